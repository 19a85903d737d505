"""The conversation graph: turns, edges, annotations, and SlicePolicy v1's context slices. Pure."""
