"""The conversation graph: turns, policies, and context slices that are the same bytes everywhere."""
