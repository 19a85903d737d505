"""Runs of agents as values: events in a chain, the state they add up to, snapshots and the gate before them."""
