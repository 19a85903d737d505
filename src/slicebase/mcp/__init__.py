"""The MCP face: the verbs for agents. Only `server` imports the SDK, and only `tt mcp` imports `server`."""
