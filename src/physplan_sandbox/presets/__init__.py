"""The recipe of the preset `sandbox`."""
