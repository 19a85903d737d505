"""Disposable full-text indexes of slice files and turns, rebuilt whenever they are missing or out of date."""
