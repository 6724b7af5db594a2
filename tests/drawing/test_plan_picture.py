"""The picture of a plan: legible, nothing over anything else, and it says what happens."""

from __future__ import annotations

import random
from importlib.resources import files
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.graph_strategies import random_chain
from physplan.drawing.boxes import CARD_WIDTH
from physplan.drawing.cards import Mark, event_cards, first_cards, row_order
from physplan.drawing.html import to_html
from physplan.drawing.plan import draw_plan
from physplan.drawing.png import latin
from physplan.drawing.shapes import Line, Picture, Rect, Text, text_width, wrap
from physplan.errors import PhysPlanError
from physplan.graph import EventChain, GraphError, parse_json

PLAN = EventChain.from_json(parse_json((files("physplan") / "data" / "melting_ice.json").read_bytes()))
Box = tuple[float, float, float, float]


def box(text: Text) -> Box:
    width = text_width(text.text, text.size, text.bold)
    left = text.x - width / 2 if text.centred else text.x
    return left, text.y - 0.75 * text.size, left + width, text.y + 0.2 * text.size


def overlap(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def assert_legible(picture: Picture) -> None:
    texts = [shape for shape in picture.shapes if isinstance(shape, Text)]
    boxes = [box(text) for text in texts]
    for (i, one), (j, two) in combinations(enumerate(boxes), 2):
        assert not overlap(one, two), (texts[i].text, texts[j].text)
    for text, (left, top, right, bottom) in zip(texts, boxes, strict=True):
        assert left >= 0, text
        assert right <= picture.width + 1, text
        assert 0 <= top < bottom <= picture.height, text
    cards = [shape for shape in picture.shapes if isinstance(shape, Rect) and shape.width == 236]
    for card, other in combinations(cards, 2):
        assert not overlap(*((c.x, c.y, c.x + c.width, c.y + c.height) for c in (card, other)))
    for line in (shape for shape in picture.shapes if isinstance(shape, Line)):
        assert all(0 <= x <= picture.width and 0 <= y <= picture.height for x, y in line.points)


def test_the_example_is_legible() -> None:
    assert_legible(draw_plan(PLAN))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_any_plan_is_legible(rng: random.Random) -> None:
    assert_legible(draw_plan(random_chain(rng, 12, 7).build()))


# How far each text that begins in a card runs over its right edge, in the picture's pixels.
OVER = """() => {
  const cards = [...document.querySelectorAll('svg rect[rx="7"]')].map(card => card.getBBox());
  const inside = (box, card) => box.x >= card.x && box.x < card.x + card.width
    && box.y + box.height / 2 >= card.y && box.y + box.height / 2 < card.y + card.height;
  return [...document.querySelectorAll('svg text')].flatMap(text => {
    const box = text.getBBox(), card = cards.find(card => inside(box, card));
    return card ? [[text.textContent, box.x + box.width - card.x - card.width]] : [];
  });
}"""


def test_no_word_runs_over_its_box_whichever_font_the_reader_has(chromium: Any) -> None:
    page = chromium.new_page()
    page.set_content(to_html(PLAN).replace("</style>", "svg text { font-family: monospace; }</style>"))
    found = page.evaluate(OVER)
    page.close()
    assert len(found) >= 20
    assert [(text, over) for text, over in found if over > 0] == []


def test_cards_mark_what_happens() -> None:
    melting = event_cards(PLAN.graphs[1], PLAN.events[1])
    assert {id: card.mark for id, card in melting.items()} == {
        "ice#1": Mark.GONE,
        "tray#2": Mark.SAME,
        "table#4": Mark.SAME,
        "puddle#3": Mark.NEW,
    }
    assert melting["puddle#3"].changes == (("new, from ice#1", None), ("now on tray#2", None))
    wetting = event_cards(PLAN.graphs[0], PLAN.events[0])
    assert wetting["tray#2"].changes == (("surface: wet", "was dry"),)
    assert "on tray#2" in first_cards(PLAN.graph)["ice#1"].facts


def test_what_is_held_stands_above_what_holds_it() -> None:
    assert row_order(PLAN) == ["ice#1", "puddle#3", "tray#2", "table#4"]


def test_long_words_are_broken_and_none_is_lost() -> None:
    text = "a " + "x" * 200 + " b"
    lines = wrap(text, 13, 100)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(text_width(line, 13) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("text", "plain"), [("café", "cafe"), ("氷#1", "?#1"), ("“a…”", "“a...”"), ("a\x07", "a?")]
)
def test_the_png_falls_back_to_the_letters_it_has(text: str, plain: str) -> None:
    assert latin(text) == plain


def large(nodes: int, edges: list[tuple[int, int]], *, rule: str = "it is so", color: str = "red") -> dict:
    boxes = [
        {"id": f"box#{i}", "category": "box", "attributes": {"color": color} if i == 0 else {}}
        for i in range(nodes)
    ]
    relations = [{"a": f"box#{a}", "r": "support", "b": f"box#{b}"} for a, b in edges]
    delta = {"states": [{"object": "box#0", "state": "wet", "rule": rule}], "fraction": 0.9}
    edits = [{"op": "Update", "o": "box#0", "key": "surface", "value": "wet"}]
    return {
        "schema_version": 1,
        "prompt": "it gets wet",
        "num_frames": 49,
        "graph": {"nodes": boxes, "edges": relations},
        "events": [{"delta": delta, "edits": edits}],
    }


def test_a_high_stack_and_a_long_word_are_drawn() -> None:
    stack = EventChain.from_json(large(1_200, [(i, i + 1) for i in range(1_199)]))
    assert row_order(stack)[0] == "box#1199"
    assert draw_plan(stack).height > 1_200 * 20
    word = draw_plan(EventChain.from_json(large(1, [], rule="x" * 10_000)))
    pieces = [shape for shape in word.shapes if isinstance(shape, Text) and set(shape.text) == {"x"}]
    assert sum(len(piece.text) for piece in pieces) == 10_000
    assert max(text_width(piece.text, piece.size) for piece in pieces) <= CARD_WIDTH


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 10_000}, r"graph.nodes: has 10000 entries, the limit is 2000"),
        ({"nodes": 1, "color": "x" * 10_000}, r"color: has 10000 characters, the limit is 1000"),
        ({"nodes": 1, "rule": "x" * 10_001}, r"rule: has 10001 characters, the limit is 10000"),
    ],
)
def test_a_plan_beyond_all_measure_is_refused(given: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        EventChain.from_json(large(given.pop("nodes"), [], **given))


def test_a_plan_is_read_from_a_regular_file_only() -> None:
    with pytest.raises(PhysPlanError, match="/dev/zero is not a regular file"):
        EventChain.load("/dev/zero")
