"""Slice files on disk: finds, reads and checks them, and writes them under a lock."""
