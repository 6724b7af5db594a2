"""Adapters of real models, registered as entry points: video families, servers, editors, perception."""
