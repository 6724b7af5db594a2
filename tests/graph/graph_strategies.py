"""Random graphs, edits and chains, drawn from one `random.Random`, so that hypothesis can replay them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from physplan.graph import (
    ATTRIBUTE_KEYS,
    RELATIONS,
    Consume,
    Edge,
    EventChain,
    GraphEdit,
    InvalidGraph,
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

WORDS = ("small", "large", "wet", "partially melted", "é", "spread over most of the tray")
sources_of_chance = st.randoms(use_true_random=False)


def random_attributes(rng: random.Random) -> dict[str, str]:
    return {key: rng.choice(WORDS) for key in ATTRIBUTE_KEYS if rng.random() < 0.7}


def random_graph(rng: random.Random, max_nodes: int = 40) -> StateGraph:
    ids = [f"{rng.choice(('cup', 'ice cube', 'tray'))}#{i}" for i in range(rng.randint(1, max_nodes))]
    graph = StateGraph([Node(id, id.split("#")[0], random_attributes(rng)) for id in ids])
    edges: list[Edge] = []
    for _ in range(rng.randint(0, 2 * len(ids))):
        a, b = rng.choice(ids), rng.choice(ids)
        try:
            graph = StateGraph(graph.nodes, [*edges, Edge(a, rng.choice(list(RELATIONS)), b)])
        except InvalidGraph:  # an object beside itself, or a circle
            continue
        edges = list(graph.edges)
    return graph


def random_edit(rng: random.Random, graph: StateGraph, fresh: int, wild: bool = False) -> GraphEdit:
    """An edit that may or may not fit; `wild` ones also use unknown ids, keys and relations."""
    ids = [*graph.ids, f"new#{fresh}"] + (["ghost#1", "gone#1", "nonsense"] if wild else [])
    keys = [*ATTRIBUTE_KEYS] + (["temperature"] if wild else [])
    relations = [*RELATIONS] + (["behind", "pours"] if wild else [])
    kind = rng.randrange(6)
    if kind == 0:
        return Update(rng.choice(ids), rng.choice(keys), rng.choice(WORDS))
    if kind == 1:
        return Link(rng.choice(ids), rng.choice(relations), rng.choice(ids))
    if kind == 2:
        edges = graph.edges
        if edges and not wild:
            edge = rng.choice(edges)
            return (
                Unlink(edge.b, edge.r, edge.a)
                if RELATIONS[edge.r].symmetric
                else Unlink(edge.a, edge.r, edge.b)
            )
        return Unlink(rng.choice(ids), rng.choice(relations), rng.choice(ids))
    if kind == 3:
        return Consume(rng.choice(ids))
    source = rng.choice([*ids, None]) if wild else rng.choice(ids)
    id = rng.choice([f"new#{fresh}", f"new#{fresh + 1}", *(ids if wild else [])])
    return Spawn(id, source, "new thing", random_attributes(rng))


def delta_of(edits: list[GraphEdit], fraction: float) -> PhysicalDelta:
    """A delta that lists every object the edits touch, as far as they can be named."""
    listed = dict.fromkeys(id for edit in edits for id in edit.targets() if "#" in id) or {"ghost#1": None}
    return PhysicalDelta(tuple(StateChange(id, "as the edits say", "it follows") for id in listed), fraction)


@dataclass(frozen=True)
class RandomChain:
    graph: StateGraph
    deltas: list[PhysicalDelta]
    edits: list[list[GraphEdit]]
    num_frames: int

    def build(self) -> EventChain:
        return EventChain.build(
            prompt="something happens",
            num_frames=self.num_frames,
            graph=self.graph,
            deltas=self.deltas,
            edits=self.edits,
            provenance={"seed": 1, "model": None, "nested": [{"a": None}]},
        )


def random_chain(rng: random.Random, max_nodes: int = 40, max_events: int = 7) -> RandomChain:
    """Events of accepted edits: each edit is kept when the checks still accept the set with it."""
    graph = current = random_graph(rng, max_nodes)
    deltas: list[PhysicalDelta] = []
    sets: list[list[GraphEdit]] = []
    consumed: set[str] = set()
    fresh = 1000
    for _ in range(rng.randint(1, max_events)):
        kept: list[GraphEdit] = []
        for _ in range(rng.randint(1, 10)):
            edit = random_edit(rng, current, fresh)
            if not check(current, None, [*kept, edit], consumed):
                kept.append(edit)
        if not kept:
            continue
        fresh += 2
        deltas.append(delta_of(kept, rng.uniform(0.01, 0.9)))
        sets.append(kept)
        consumed |= {edit.o for edit in kept if isinstance(edit, Consume)}
        current = apply(current, kept)
    if not sets:
        first = Update(graph.ids[0], "surface", "wet")
        deltas, sets = [delta_of([first], 0.3)], [[first]]
    return RandomChain(graph, deltas, sets, rng.choice((9, 17, 49, 81)))


chains = sources_of_chance.map(random_chain)
graphs = sources_of_chance.map(random_graph)
