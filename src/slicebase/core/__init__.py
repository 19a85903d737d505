"""Canonical bytes, hashes, ids, references, times, and parsers of outside texts, which every package uses."""
