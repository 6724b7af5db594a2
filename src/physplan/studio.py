"""Moved to `physplan_studio`."""

raise ImportError("physplan.studio is now physplan_studio: import it by that name.")
