"""The search and its sections as tools for agents, over the Model Context Protocol."""
