"""The frozen values that travel between stages, by what they tell of."""
