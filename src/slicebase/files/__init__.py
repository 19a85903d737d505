"""Slice files: their format, read from bytes, edited in place, written back."""
