"""What the next attempt of a run changes: what the verdict asks for, and last the seed."""
