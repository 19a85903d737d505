"""Bytes that never change: canonical JSON, digests, ids, times, tokens and references."""
