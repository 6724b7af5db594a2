"""Sets of benchmarks from one file: benchmarks x presets x methods x seeds, one budget, one page."""
