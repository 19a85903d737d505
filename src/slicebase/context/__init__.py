"""The context for a model: ranking, assembly, the manifest, recall, and what a compaction lost."""
