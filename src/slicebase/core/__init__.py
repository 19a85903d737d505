"""Canonical bytes, hashes, ids, references and times, which every package uses."""
