"""Photographs on a laptop: small networks for detection, segmentation and inpainting, on a CPU, no key."""
