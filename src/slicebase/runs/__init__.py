"""Runs: an agent's event log, its evidence, and compaction as a gate (compaction-snapshot.md). Pure."""
