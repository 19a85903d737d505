"""The command line: parse, call, print. Commands are imported only when they are called."""
