"""What a server says it counted, believed only where it can be true; what cannot be costs the worst case."""

from __future__ import annotations

from typing import Any

from physplan.calls.protocol import Usage

MOST_TOKENS = 10_000_000  # of one call; no model takes or gives as many


def read_usage(
    *,
    taken: Any,
    given: Any,
    thought: Any = 0,
    total: Any = None,
    drawn: Any = 0,
    images: int = 0,
    answered: bool,
) -> Usage | None:
    """None unless every count is whole, not negative and bounded, and none is below what was seen to happen.

    `given` counts the output without what was `thought`, `drawn` the share of it that pictures are made of:
    these are priced each.
    """
    counts = [taken, given, thought, drawn if images else 0, 0 if total is None else total]
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts):
        return None
    taken, given, thought, drawn, stated = counts
    # Servers differ in whether `given` holds the thinking too, and so in whether a total adds it once more.
    if total is not None and stated < taken + given:
        return None
    # A total above its parts holds what some servers leave out of them: thinking.
    output = max(given + thought, stated - taken) - drawn
    if taken < 1 or output < int(answered):
        return None
    return Usage(input_tokens=taken, output_tokens=output, images=images)
