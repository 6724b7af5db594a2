"""Video models behind an HTTP API, one file per API; they return frames, so there is no guidance."""
