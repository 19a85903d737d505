"""The rules of the format: what is wrong with a header, a body, a file, and between files."""
