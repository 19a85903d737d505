"""Slice files on disk: found, read, written under a lock, and checked."""
