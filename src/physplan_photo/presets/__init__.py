"""The recipe of the preset `photo`."""
