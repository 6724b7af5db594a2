"""Attempts of a run: what the next one changes, by the verdict, and which of several is kept."""
