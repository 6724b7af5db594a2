"""The picture of a plan: a row per object, a column per state, time above, what holds what beside."""

from __future__ import annotations

from dataclasses import replace

from physplan.drawing.boxes import (
    BODY,
    CARD_WIDTH,
    GREEN,
    INK,
    LOOKS,
    MUTED,
    RED,
    SLATE,
    SMALL,
    card_height,
    draw_card,
)
from physplan.drawing.cards import Mark, event_cards, first_cards, row_order
from physplan.drawing.relation_lines import (
    JOINTS,
    LANE_SPACING,
    STUB_LENGTH,
    assign_lanes,
    draw_joint,
    find_joints,
    spread_ports,
)
from physplan.drawing.shapes import Line, Picture, Rect, Shape, Text, text_width, wrap
from physplan.errors import PhysPlanError
from physplan.graph import EventChain

PAGE_MARGIN = 36.0
COLUMN_GAP = 20.0  # between a column's cards and the next column's lanes
ROW_GAP = 16.0
MOST_CARDS = 20_000
RULE = "#e5e8ee"


def draw_plan(chain: EventChain) -> Picture:
    count = sum(len(graph) for graph in chain.graphs)
    if count > MOST_CARDS:
        raise PhysPlanError(
            f"The plan has {count} objects over all its states, too many to draw (at most {MOST_CARDS}): "
            "leave out objects that nothing happens to."
        )
    columns = [first_cards(chain.graph)]
    columns += [event_cards(before, event) for before, event in zip(chain.graphs, chain.events, strict=False)]
    rows = [id for id in row_order(chain) if any(id in cards for cards in columns)]
    joints = [find_joints(chain, i) for i in range(len(columns))]
    lanes = [assign_lanes(edges, rows) for edges in joints]
    gutter = STUB_LENGTH + LANE_SPACING * max([1, *(max(lane.values(), default=0) + 1 for lane in lanes)])
    column_width = gutter + CARD_WIDTH + COLUMN_GAP
    width = 2 * PAGE_MARGIN + column_width * len(columns) - COLUMN_GAP
    shapes: list[Shape] = []

    y = _title(shapes, chain, width)
    y = _time_line(shapes, chain, y, width)
    lefts = [PAGE_MARGIN + column_width * i + gutter for i in range(len(columns))]
    y = _headers(shapes, chain, lefts, y)
    tops: dict[str, float] = {}
    for id in rows:
        shapes.append(Line(points=((PAGE_MARGIN, y), (width - PAGE_MARGIN, y)), stroke=RULE))
        y += ROW_GAP
        tops[id] = y
        y += max(card_height(cards[id]) for cards in columns if id in cards) + ROW_GAP
    for i, cards in enumerate(columns):
        ports = spread_ports(joints[i], rows)
        for edge, lane in lanes[i].items():
            shapes.append(draw_joint(edge, lane, joints[i][edge], lefts[i], tops, cards, ports))
        for id, card in cards.items():
            shapes += draw_card(card, lefts[i], tops[id])
    shapes.append(Line(points=((PAGE_MARGIN, y), (width - PAGE_MARGIN, y)), stroke=RULE))
    height = _legend(shapes, y, width) + PAGE_MARGIN
    return Picture(width, height, f"Plan: {chain.prompt}", shapes=shapes)


def _title(shapes: list[Shape], chain: EventChain, width: float) -> float:
    y = PAGE_MARGIN + 20
    for line in wrap(f"“{chain.prompt}”", 22, width - 2 * PAGE_MARGIN, bold=True):
        shapes.append(Text(x=PAGE_MARGIN, y=y, text=line, size=22, fill=INK, bold=True))
        y += 28
    objects = len({node.id for graph in chain.graphs for node in graph.nodes})
    events = f"{len(chain.events)} event{'s' if len(chain.events) > 1 else ''}"
    summary = f"{events}, {objects} object{'s' if objects > 1 else ''}, {chain.num_frames} frames"
    shapes.append(Text(x=PAGE_MARGIN, y=y, text=summary, size=BODY, fill=MUTED))
    return y + 22


def _time_line(shapes: list[Shape], chain: EventChain, y: float, width: float) -> float:
    """Frames from left to right; each event ends at its anchor, and the last state stays."""
    left, right, bar = PAGE_MARGIN + 8, width - PAGE_MARGIN - 8, y + 26
    last = chain.num_frames - 1

    def at(frame: int) -> float:
        return left + (right - left) * frame / last

    shapes.append(Rect(x=left, y=bar, width=right - left, height=8, fill="#dbe1ea", radius=4))
    start = 0
    for i, event in enumerate(chain.events):
        tint = "#8fa3bf" if i % 2 == 0 else "#b4c2d6"
        shapes.append(
            Rect(x=at(start), y=bar, width=at(event.anchor) - at(start), height=8, fill=tint, radius=4)
        )
        start = event.anchor
    labels = [(0, "frame 0")]
    labels += [(event.anchor, f"event {i + 1} ends: {event.anchor}") for i, event in enumerate(chain.events)]
    if start < last:
        labels.append((last, f"last frame: {last}"))
    taken: list[float] = []  # the right end of the last label of each line
    for frame, label in labels:
        half = text_width(label, SMALL) / 2
        x = min(max(at(frame), PAGE_MARGIN + half), width - PAGE_MARGIN - half)
        level = next((k for k, end in enumerate(taken) if x - half > end + 8), len(taken))
        taken[level:] = [x + half, *taken[level + 1 :]]
        baseline = bar + 32 + 17 * level
        shapes.append(
            Line(points=((at(frame), bar - 5), (at(frame), baseline - 12)), stroke=SLATE, width=1.6)
        )
        shapes.append(Rect(x=x - half, y=baseline - 11, width=2 * half, height=14, fill="#ffffff"))
        shapes.append(Text(x=x, y=baseline, text=label, size=SMALL, fill=SLATE, centred=True))
    return bar + 32 + 17 * len(taken) + 10


def _headers(shapes: list[Shape], chain: EventChain, lefts: list[float], y: float) -> float:
    """What each column is, and for events what changes and why."""
    bottoms = []
    for i, left in enumerate(lefts):
        name = "First frame" if i == 0 else f"Event {i}"
        shapes.append(Text(x=left, y=y + 16, text=name, size=17, fill=INK, bold=True))
        when = (
            "what the picture shows" if i == 0 else f"its state holds at frame {chain.events[i - 1].anchor}"
        )
        shapes.append(Text(x=left, y=y + 34, text=when, size=SMALL, fill=MUTED))
        baseline = y + 58
        for state in chain.events[i - 1].delta.states if i else ():
            for line in wrap(f"{state.object}: {state.state}", BODY, CARD_WIDTH, bold=True):
                shapes.append(Text(x=left, y=baseline, text=line, size=BODY, fill=INK, bold=True))
                baseline += 17
            for line in wrap(state.rule, SMALL, CARD_WIDTH):
                shapes.append(Text(x=left, y=baseline, text=line, size=SMALL, fill=MUTED))
                baseline += 16
            baseline += 7
        bottoms.append(baseline)
    return max(bottoms) + 2


def _legend(shapes: list[Shape], y: float, width: float) -> float:
    y += 28
    x = PAGE_MARGIN
    for sample, label in _legend_entries():
        reach = 22 if isinstance(sample, Rect) else 30
        step = reach + 8 + text_width(label, SMALL) + 24
        if x + step - 24 > width - PAGE_MARGIN:
            x, y = PAGE_MARGIN, y + 22
        shapes.append(_moved(sample, x, y))
        shapes.append(Text(x=x + reach + 8, y=y, text=label, size=SMALL, fill=MUTED))
        x += step
    return y


def _legend_entries() -> list[tuple[Rect | Line, str]]:
    entries: list[tuple[Rect | Line, str]] = []
    for mark in (Mark.CHANGED, Mark.NEW, Mark.GONE, Mark.SAME):
        look = LOOKS[mark]
        box = Rect(x=0, y=-11, width=22, height=14, fill=look.fill, stroke=look.border, radius=3)
        box = replace(box, stroke_width=look.width, dashed=look.dashed)
        entries.append((box, "unchanged" if mark is Mark.SAME else mark.value))
    across = ((0.0, -4.0), (30.0, -4.0))
    words = {
        "support": "holds up",
        "containment": "contains",
        "attachment": "is fixed to",
        "contact": "touches",
    }
    for relation, label in words.items():
        thick, dash = JOINTS[relation]
        arrow = relation != "contact"
        entries.append((Line(points=across, stroke=SLATE, width=thick, dash=dash, arrow=arrow), label))
    entries.append((Line(points=across, stroke=GREEN, width=1.8, arrow=True), "begins"))
    entries.append((Line(points=across, stroke=RED, width=1.8, dash=(3, 3), arrow=True), "ends"))
    return entries


def _moved(shape: Rect | Line, x: float, y: float) -> Rect | Line:
    if isinstance(shape, Line):
        return replace(shape, points=tuple((px + x, py + y) for px, py in shape.points))
    return replace(shape, x=shape.x + x, y=shape.y + y)
