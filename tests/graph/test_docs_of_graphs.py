"""docs/graph.md: its graph, its delta and its edits are one event that passes all checks."""

from __future__ import annotations

import re
from pathlib import Path

from physplan.graph import apply, check, parse_deltas, parse_edits, parse_graph

PAGE = (Path(__file__).parents[2] / "docs" / "graph.md").read_text("utf-8")


def example(heading: str) -> str:
    return re.search(rf"^## {heading}\n.*?```json\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_the_examples_of_the_page_fit_each_other() -> None:
    graph = parse_graph(example("A graph"))
    (delta,) = parse_deltas(example("A delta"))
    edits = parse_edits(example("An edit set"))
    assert check(graph, delta, edits) == ()
    after = apply(graph, edits)
    assert set(after.ids) == {"tray#2", "cup#5", "puddle#3"}
