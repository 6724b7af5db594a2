"""Moved to `physplan_bench.study`."""

raise ImportError("physplan.study is now physplan_bench.study: import it by that name.")
