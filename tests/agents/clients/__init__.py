"""Real coding agents against a scripted model: pinned clients, the model's server, and conversations with them."""
