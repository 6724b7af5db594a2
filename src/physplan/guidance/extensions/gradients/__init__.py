"""Gradient modes beyond the paper: `fused`, `direct`, and Frame Guidance's `whole`."""
