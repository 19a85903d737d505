"""The command line: it parses, calls one verb, and prints."""
