"""The Slices v1 format: slice files from bytes and back, their bodies, links, freshness and rules. Pure."""
