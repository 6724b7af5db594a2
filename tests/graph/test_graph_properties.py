"""What must hold for every graph, edit set and chain."""

from __future__ import annotations

import json
import pickle
import random
from contextlib import suppress

import pytest
from graph_strategies import (
    RandomChain,
    chains,
    delta_of,
    graphs,
    random_edit,
    random_graph,
    sources_of_chance,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from physplan.graph import (
    Consume,
    EventChain,
    InvalidEdit,
    Link,
    Spawn,
    StateGraph,
    Unlink,
    Update,
    anchors,
    apply,
    check,
    net_edits,
    objects_so_far,
    parse_json,
    rescale,
)

thorough = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@thorough
@given(chains)
def test_unedited_nodes_are_the_very_same_objects(chain: RandomChain) -> None:
    current = chain.graph
    for edits in chain.edits:
        following = apply(current, edits)
        updated = {edit.o for edit in edits if isinstance(edit, Update)}
        consumed = {edit.o for edit in edits if isinstance(edit, Consume)}
        for node in current.nodes:
            if node.id not in consumed | updated:
                assert following.node(node.id) is node
        untouched = {edge for edge in current.edges if not consumed & {edge.a, edge.b}}
        unlinked = {edit.ends() for edit in edits if isinstance(edit, Unlink)}
        assert {edge for edge in untouched if (edge.a, edge.r, edge.b) not in unlinked} <= set(
            following.edges
        )
        current = following


@thorough
@given(chains)
def test_net_edits_lead_from_the_first_graph_to_each_later_one(chain: RandomChain) -> None:
    current = chain.graph
    for i, edits in enumerate(chain.edits):
        current = apply(current, edits)
        assert apply(chain.graph, net_edits(chain.graph, chain.edits[: i + 1])) == current


@thorough
@given(chains)
def test_net_edits_are_minimal(chain: RandomChain) -> None:
    """Dropping any one of them leads somewhere else (or nowhere)."""
    net = net_edits(chain.graph, chain.edits)
    final = apply(chain.graph, net)
    for i in range(len(net)):
        with suppress(InvalidEdit):
            assert apply(chain.graph, net[:i] + net[i + 1 :]) != final


@thorough
@given(chains, st.randoms(use_true_random=False))
def test_the_order_of_edits_means_nothing(chain: RandomChain, rng: random.Random) -> None:
    for edits, graph in zip(
        chain.edits, [chain.graph, *(e.graph for e in chain.build().events)], strict=False
    ):
        shuffled = list(edits)
        rng.shuffle(shuffled)
        assert apply(graph, shuffled) == apply(graph, edits)


@thorough
@given(sources_of_chance)
def test_accepted_sets_give_valid_graphs_and_rejected_ones_change_nothing(rng: random.Random) -> None:
    graph = random_graph(rng, 12)
    edits = [random_edit(rng, graph, 1000, wild=rng.random() < 0.3) for _ in range(rng.randint(0, 6))]
    delta = delta_of(edits[:1] or [Update(graph.ids[0], "color", "red")], 0.4) if rng.random() < 0.5 else None
    before, edits_before = json.dumps(graph.to_json()), [edit.to_json() for edit in edits]
    violations = check(graph, delta, edits, {"gone#1"})
    if not violations:
        following = apply(graph, edits)
        # The public constructor validates everything again: ids, vocabulary, ends, circles.
        assert StateGraph(following.nodes, following.edges) == following
        for relation in ("support", "containment"):
            assert_acyclic(following, relation)
    elif any(violation.check == "consistency" and "circle" in violation.message for violation in violations):
        with pytest.raises(InvalidEdit):
            apply(graph, edits)
    assert json.dumps(graph.to_json()) == before
    assert [edit.to_json() for edit in edits] == edits_before


def assert_acyclic(graph: StateGraph, relation: str) -> None:
    """Kahn's algorithm, another way than the package's."""
    edges = {(edge.a, edge.b) for edge in graph.edges if edge.r == relation}
    left = set(graph.ids)
    while free := {id for id in left if not any(b == id for _, b in edges)}:
        left -= free
        edges = {(a, b) for a, b in edges if a in left}
    assert not left


@thorough
@given(sources_of_chance)
def test_the_checks_agree_with_the_papers_sentences_read_naively(rng: random.Random) -> None:
    graph = random_graph(rng, 8)
    edits = [random_edit(rng, graph, 1000, wild=True) for _ in range(rng.randint(1, 5))]
    listed = dict.fromkeys(id for edit in edits[: rng.randint(1, 5)] for id in edit.targets() if "#" in id)
    delta = delta_of([Consume(id) for id in listed] or [Consume(graph.ids[0])], 0.4)
    found = {violation.check for violation in check(graph, delta, edits, {"gone#1"})}
    nodes, spawned = set(graph.ids), {edit.id for edit in edits if isinstance(edit, Spawn)}
    scope = set(delta.objects())
    named = [id for edit in edits if not isinstance(edit, Spawn) for id in edit.targets()]
    ill_named = any(
        key in ("temperature",) for edit in edits if isinstance(edit, Update) for key in [edit.key]
    )
    ill_related = any(edit.r in ("behind", "pours") for edit in edits if isinstance(edit, Link | Unlink))
    spawns = [edit.id for edit in edits if isinstance(edit, Spawn)]
    assert ("grounding" in found) == (
        any(id not in nodes | spawned | {"gone#1"} for id in named)
        or ill_named
        or ill_related
        or any(id in nodes or id in ("gone#1", "nonsense") for id in spawns)
        or len(spawns) != len(spawned)
    )
    assert ("coverage" in found) == (
        any(id not in {t for edit in edits for t in edit.targets()} for id in scope)
        or any(edit.o not in scope for edit in edits if isinstance(edit, Update | Consume))
        or any(
            not scope & set(edit.targets()) and (isinstance(edit, Spawn) or not spawned & set(edit.targets()))
            for edit in edits
            if isinstance(edit, Link | Unlink | Spawn)
        )
    )
    assert ("lineage" in found) == (
        any(edit.source not in nodes for edit in edits if isinstance(edit, Spawn)) or "gone#1" in named
    )


@thorough
@given(chains)
def test_json_round_trip_is_exact(chain: RandomChain) -> None:
    plan = chain.build()
    text = json.dumps(plan.to_json())
    again = EventChain.from_json(parse_json(text))
    assert again == plan
    assert json.dumps(again.to_json()) == text
    assert pickle.loads(pickle.dumps(plan)) == plan


@thorough
@given(graphs)
def test_graph_json_round_trip_is_exact(graph: StateGraph) -> None:
    again = StateGraph.from_json(json.loads(json.dumps(graph.to_json())))
    assert again == graph
    assert hash(again) == hash(graph)
    assert again.to_json() == graph.to_json()


@thorough
@given(chains)
def test_every_object_that_appeared_is_counted_once(chain: RandomChain) -> None:
    plan = chain.build()
    for i in range(len(plan.events) + 1):
        so_far = objects_so_far(plan, i)
        assert len(set(so_far)) == len(so_far)
        assert set(so_far) == {id for graph in plan.graphs[: i + 1] for id in graph.ids}


fractions = st.lists(st.floats(1e-9, 1, exclude_max=True), min_size=1, max_size=7)


@thorough
@given(fractions, st.integers(8, 200))
def test_anchors_strictly_increase_and_stay_inside_the_video(shares: list[float], num_frames: int) -> None:
    frames = anchors(shares, num_frames)
    assert len(frames) == len(shares)
    assert all(a < b for a, b in zip((0, *frames), frames, strict=False))
    assert frames[-1] <= num_frames - 1


@thorough
@given(fractions)
def test_rescaled_fractions_keep_their_proportions_and_leave_time_at_the_end(shares: list[float]) -> None:
    scaled = rescale(shares)
    assert sum(scaled) < 1
    assert [s / scaled[0] for s in scaled] == pytest.approx([s / shares[0] for s in shares])
    assert rescale(scaled) == scaled
