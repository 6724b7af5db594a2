"""Moved to `physplan_sandbox`."""

raise ImportError("physplan.sandbox is now physplan_sandbox: import it by that name.")
