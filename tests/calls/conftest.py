"""Both providers behind one fixture."""

from __future__ import annotations

from physplan_testing.sites import gemini_site, make_site

__all__ = ["gemini_site", "make_site"]
