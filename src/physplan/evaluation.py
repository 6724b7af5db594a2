"""Moved to `physplan_bench`."""

raise ImportError("physplan.evaluation is now physplan_bench: import it by that name.")
