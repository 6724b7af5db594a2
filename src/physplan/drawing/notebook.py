"""A plan in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.drawing.plan import draw_plan
from physplan.drawing.svg import to_svg

if TYPE_CHECKING:
    from physplan.graph import EventChain


def plan_svg(chain: EventChain) -> str:
    return to_svg(draw_plan(chain))
