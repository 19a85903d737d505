"""The context for a model: ranking, assembly, the manifest, recall, what a compaction lost, and handovers."""
