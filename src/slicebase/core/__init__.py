"""Bytes, hashes, ids, references and times: what every room agrees on."""
