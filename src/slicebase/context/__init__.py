"""What a model is shown: a ranked, cited context with its manifest, and what a compaction lost."""
