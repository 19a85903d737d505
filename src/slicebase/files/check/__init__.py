"""The rules of the format, checked for a header, a body, a complete file, and between files."""
