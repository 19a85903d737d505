"""Conversations from other tools, read as turns: byte streams go in, batches of turns and a report come out."""
