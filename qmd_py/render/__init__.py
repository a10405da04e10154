"""Records → text for people, JSON, CSV, Markdown."""
