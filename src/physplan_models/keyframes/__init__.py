"""Image editors for keyframes: diffusers' pipelines, and models behind a server."""
