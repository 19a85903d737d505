"""Verifiable memory for long-running AI agents.

The packages follow one path, from the bytes of a transcript to a context that can be replayed and proven.
An application holds one object: `slicebase.base.Slicebase`.
"""

__version__ = "0.1.0"
