"""README and docs, block by block, as a reader would run them."""
