"""A benchmark result as one static HTML page."""
