"""The MCP server: it offers the verbs as tools, resources and prompts."""
