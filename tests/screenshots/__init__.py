"""The pictures of the pages in docs, taken anew: `make screenshots`."""
