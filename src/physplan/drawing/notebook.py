"""A plan in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.drawing.plan import draw_plan
from physplan.drawing.svg import to_svg

if TYPE_CHECKING:
    from physplan.graph import EventChain


def plan_svg(chain: EventChain) -> str:
    """As wide as the notebook's page at most."""
    return to_svg(draw_plan(chain)).replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)
