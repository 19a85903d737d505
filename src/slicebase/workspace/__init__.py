"""The folder that a memory belongs to: where things are, its settings, atomic writes, and git."""
