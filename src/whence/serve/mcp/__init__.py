"""The server for agents: the Model Context Protocol over standard streams or HTTP (A2)."""
