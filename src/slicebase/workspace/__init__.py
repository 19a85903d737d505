"""The folder that a memory belongs to: its paths, its settings, atomic writes, and git."""
