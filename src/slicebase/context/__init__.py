"""The context for a model: ranking, assembly, the manifest, recall, what a compaction lost, and what the next agent needs."""
