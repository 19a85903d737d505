"""The append-only database: turns, texts, manifests, runs, snapshots and evidence."""
