"""`physplan photo` as a command."""
