"""Verifiable memory for long-running AI agents.

The packages are the stations of one path, from the bytes of a transcript to a context that can be
replayed and proven; `slicebase.base.Slicebase` is the one object that an application holds.
"""

__version__ = "0.1.0"
