"""What a user asks for: each verb reads from the state, decides with pure functions, and writes the result."""
