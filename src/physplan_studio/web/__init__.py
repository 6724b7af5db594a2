"""The HTTP server of studio and user study, on the standard library."""
