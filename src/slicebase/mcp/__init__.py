"""The MCP server: tools, resources and prompts over the same verbs."""
