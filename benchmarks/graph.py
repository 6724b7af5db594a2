"""Checks and apply of a nine-edit set per second, at 40 and at 400 nodes: `make bench-graph`."""

from __future__ import annotations

import sys
import time
from itertools import pairwise

from physplan.graph import (
    ATTRIBUTE_KEYS,
    Consume,
    Edge,
    GraphEdit,
    Link,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    apply,
    check,
)

AIM_AT_40 = 5_000  # per second
AIM_RATIO = 10  # 400 nodes may be this many times slower


def scene(num_nodes: int) -> StateGraph:
    """Stacks of ten objects, each next to the same object of the stack beside it."""
    ids = [f"thing#{i}" for i in range(num_nodes)]
    stacked = [Edge(a, "support", b) for i, (a, b) in enumerate(pairwise(ids)) if i % 10 != 9]
    beside = [Edge(a, "left of", b) for a, b in zip(ids, ids[10:], strict=False)]
    return StateGraph(
        [Node(id, "thing", dict.fromkeys(ATTRIBUTE_KEYS, "as it was")) for id in ids], stacked + beside
    )


def nine_edits() -> tuple[PhysicalDelta, list[GraphEdit]]:
    edits: list[GraphEdit] = [
        Update("thing#5", "surface", "wet"),
        Update("thing#5", "extent", "large"),
        Update("thing#6", "integrity", "cracked"),
        Spawn("puddle#9000", "thing#9", "puddle", {"material_phase": "liquid", "extent": "small"}),
        Consume("thing#9"),
        Link("thing#8", "support", "puddle#9000"),
        Unlink("thing#4", "support", "thing#5"),
        Link("thing#14", "support", "thing#5"),
        Link("thing#5", "contact", "thing#15"),
    ]
    states = [StateChange(id, "changes", "it follows") for id in ("thing#5", "thing#6", "thing#9")]
    return PhysicalDelta(tuple(states), 0.3), edits


def rate(num_nodes: int, seconds: float = 1.0, repeats: int = 3) -> float:
    """Events per second of processor time, best of `repeats`; every event meets a graph it has not seen."""
    base, (delta, edits) = scene(num_nodes), nine_edits()
    best = 0.0
    for _ in range(repeats):
        done, start = 0, time.process_time()
        while time.process_time() - start < seconds:
            graph = StateGraph._trusted(base._nodes, base._edges)  # nothing cached from the last round
            if violations := check(graph, delta, edits):
                raise SystemExit(f"the benchmark's edits are rejected: {violations[0].message}")
            apply(graph, edits)
            done += 1
        best = max(best, done / (time.process_time() - start))
    return best


def main() -> int:
    small, large = rate(40), rate(400)
    print("checks + apply of a nine-edit set, per second")
    print(f"   40 nodes: {small:7,.0f}   (aim: at least {AIM_AT_40:,})")
    print(f"  400 nodes: {large:7,.0f}   ({small / large:.1f} times slower; aim: at most {AIM_RATIO})")
    return 0 if small >= AIM_AT_40 and small / large <= AIM_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
