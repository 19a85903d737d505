"""Real processes on real workspaces: killed, with a full disk, many at once, without power. See `make soak`."""
