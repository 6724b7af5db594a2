"""Grounded Physical State Reasoning (section 3.1): from a picture and a sentence to a verified plan."""
