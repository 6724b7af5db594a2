"""One-off experiments: scripts that chose a setting or drew a figure of the documentation."""
