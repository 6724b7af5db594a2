"""What holds, contains, carries or touches what: lines beside the cards of one column."""

from __future__ import annotations

from physplan.drawing.boxes import GREEN, RED, SLATE, card_height
from physplan.drawing.cards import Card
from physplan.drawing.shapes import Line
from physplan.graph import Edge, EventChain, Link, Unlink

LANE = 11.0  # distance between lines that run side by side
STUB = 14.0  # from a card to the first lane
# For each joint and end: which of how many joints of that card it is.
Ports = dict[tuple[Edge, str], tuple[int, int]]

# Relations drawn as lines between cards: width and dash.
JOINTS: dict[str, tuple[float, tuple[float, float] | None]] = {
    "support": (1.8, None),
    "containment": (3.4, None),
    "attachment": (1.8, (7, 3)),
    "contact": (1.6, (1.6, 3)),
}


def find_joints(chain: EventChain, i: int) -> dict[Edge, str]:
    """The relations drawn in column i, each with its colour: new ones green, ended ones red."""
    shown = {edge: SLATE if i == 0 else "#c5ccd6" for edge in chain.graphs[i].edges if edge.r in JOINTS}
    for edit in chain.events[i - 1].edits if i else ():
        if isinstance(edit, Link | Unlink) and edit.r in JOINTS:
            edge = Edge(edit.a, edit.r, edit.b)
            still_there = edge.a in chain.graphs[i] and edge.b in chain.graphs[i]
            if isinstance(edit, Link):
                shown[edge] = GREEN
            elif still_there and edge in chain.graphs[i - 1]:
                shown[edge] = RED
    return shown


def assign_lanes(edges: dict[Edge, str], rows: list[str]) -> dict[Edge, int]:
    """Short joints next to the cards, longer ones further out, so that none lies on another."""
    place = {id: i for i, id in enumerate(rows)}
    lanes: dict[Edge, int] = {}
    spans: list[list[tuple[int, int]]] = []
    for edge in sorted(edges, key=lambda e: (abs(place[e.a] - place[e.b]), place[e.a], place[e.b], e.r)):
        low, high = sorted((place[edge.a], place[edge.b]))
        lane = 0
        while lane < len(spans) and any(low < h and l < high for l, h in spans[lane]):
            lane += 1
        spans[lane:] = [[*(spans[lane] if lane < len(spans) else []), (low, high)], *spans[lane + 1 :]]
        lanes[edge] = lane
    return lanes


def spread_ports(edges: dict[Edge, str], rows: list[str]) -> Ports:
    """For each joint and end its place along the card's side: what goes up leaves above what goes down."""
    place = {id: i for i, id in enumerate(rows)}
    ports: Ports = {}
    for id in {end for edge in edges for end in (edge.a, edge.b)}:
        mine = [edge for edge in edges if id in (edge.a, edge.b)]

        def outwards(edge: Edge, id: str = id) -> tuple[int, int, str]:
            steps = place[edge.a] + place[edge.b] - 2 * place[id]
            return (0 if steps < 0 else 1, -steps, edge.r)

        ports |= {(edge, id): (i, len(mine)) for i, edge in enumerate(sorted(mine, key=outwards))}
    return ports


def draw_joint(
    edge: Edge, lane: int, colour: str, left: float, tops: dict[str, float], cards: dict[str, Card],
    ports: Ports,
) -> Line:  # fmt: skip
    width, dash = JOINTS[edge.r]
    ends = []
    for id in (edge.a, edge.b):
        number, count = ports[edge, id]
        step = min(9.0, (card_height(cards[id]) - 16) / max(count - 1, 1))
        ends.append(tops[id] + 9 + step * number)
    x = left - STUB - LANE * lane
    points = ((left, ends[0]), (x, ends[0]), (x, ends[1]), (left - 1, ends[1]))
    dash = (3, 3) if colour == RED else dash
    return Line(points=points, stroke=colour, width=width, dash=dash, arrow=edge.r != "contact")
