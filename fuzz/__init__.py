"""Fuzzing: real files, damaged at random, through every parser and door. `make fuzz` runs it (docs/reliability.md)."""
