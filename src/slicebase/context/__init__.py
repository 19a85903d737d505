"""What a model is shown: ranking, assembly under a budget, rendering, and the manifest that pins it all. Pure."""
