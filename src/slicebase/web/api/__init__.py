"""The HTTP API: each endpoint reads typed parameters, calls one verb, and returns a typed answer."""
