"""Adapters over diffusers' own model classes, one file per family."""
