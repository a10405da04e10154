"""A question in other words: prompts for a local model, what it wrote, what of that may be used.

Pure: no model is loaded here. A caller can hand in its own wording instead.
"""
