"""Slice files as values: read, edited, checked and merged without touching the disk."""
