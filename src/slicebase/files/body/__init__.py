"""The bodies of slice files: lines, rows, sections, conversations and routines, and how to write each of them."""
