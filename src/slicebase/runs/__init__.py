"""Runs of agents as values: chained events, the state that they add up to, snapshots, and the gate."""
