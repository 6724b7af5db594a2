"""Section 4 and appendices B-E of the paper as commands: benchmarks, metrics, tables, plots, at any scale.

Every benchmark is a list of independent cases (`cases`), run by one engine (`engine`) on one process, on
many, or on a Ray cluster. The metrics are pure functions of arrays and can be used alone.
"""
