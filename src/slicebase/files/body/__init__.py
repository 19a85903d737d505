"""The bodies of slice files: lines, rows, sections, conversations and routines, and how each is written."""
