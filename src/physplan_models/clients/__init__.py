"""Clients of language and image model APIs, one per provider; shared HTTP and error handling."""
