"""What holds, contains, carries or touches what: lines beside the cards of one column."""

from __future__ import annotations

from bisect import bisect_left, insort

from physplan.drawing.boxes import GREEN, RED, SLATE, card_height
from physplan.drawing.cards import Card
from physplan.drawing.shapes import Line
from physplan.graph import Edge, EventChain, Link, Unlink

LANE_SPACING = 11.0  # distance between lines that run side by side
STUB_LENGTH = 14.0  # from a card to the first lane
MOST_LANES = 24  # what finds no lane of its own shares the last
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
    """Short joints next to the cards, longer ones further out, so that few lie on another."""
    place = {id: i for i, id in enumerate(rows)}
    lanes: dict[Edge, int] = {}
    spans: list[list[tuple[int, int]]] = [[] for _ in range(MOST_LANES)]  # of each lane, sorted
    for edge in sorted(edges, key=lambda e: (abs(place[e.a] - place[e.b]), place[e.a], place[e.b], e.r)):
        span = (min(place[edge.a], place[edge.b]), max(place[edge.a], place[edge.b]))
        lane = next((i for i, taken in enumerate(spans) if _is_free(taken, span)), MOST_LANES)
        if lane < MOST_LANES:
            insort(spans[lane], span)
        lanes[edge] = lane
    return lanes


def _is_free(taken: list[tuple[int, int]], span: tuple[int, int]) -> bool:
    """Whether a lane, whose spans do not overlap, has room for one more: only its neighbours can be in it."""
    at = bisect_left(taken, span)
    before_is_over = at == 0 or taken[at - 1][1] <= span[0]
    return before_is_over and (at == len(taken) or taken[at][0] >= span[1])


def spread_ports(edges: dict[Edge, str], rows: list[str]) -> Ports:
    """For each joint and end its place along the card's side: what goes up leaves above what goes down."""
    place = {id: i for i, id in enumerate(rows)}
    ports: Ports = {}
    of: dict[str, list[Edge]] = {}
    for edge in edges:
        for end in dict.fromkeys((edge.a, edge.b)):
            of.setdefault(end, []).append(edge)
    for id, mine in of.items():

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
    x = left - STUB_LENGTH - LANE_SPACING * lane
    points = ((left, ends[0]), (x, ends[0]), (x, ends[1]), (left - 1, ends[1]))
    dash = (3, 3) if colour == RED else dash
    return Line(points=points, stroke=colour, width=width, dash=dash, arrow=edge.r != "contact")
