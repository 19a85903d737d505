"""The command line: each command parses its arguments, calls one verb, and prints the result."""
