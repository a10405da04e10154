"""What notes state of their revision, their dates and their readers."""
