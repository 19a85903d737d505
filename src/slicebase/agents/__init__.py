"""Connects coding agents: their hooks, their AGENTS.md, and the commands of the memory tool."""
