"""The verbs: each reads what is stored, decides with pure functions, and writes the result."""
