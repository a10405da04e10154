"""A question → the notes and sections that answer it: each pipeline in one function."""
