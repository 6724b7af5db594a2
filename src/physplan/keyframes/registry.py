"""The keyframe editors by name; installed packages register them (docs/extending.md)."""

from __future__ import annotations

from physplan.registry import Registry

EDITORS = Registry("keyframe editor", {}, group="editors")
