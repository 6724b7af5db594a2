"""Benchmarks: each module prints the figures of one `make bench-...` target."""
