"""`search` over sets of judged questions → measures and times."""
