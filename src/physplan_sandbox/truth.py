"""The true state graph and event chain of a scene: the rules' events with the simulator's own objects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from physplan.graph import Edge, EventChain, Node, StateGraph
from physplan_sandbox.arrangement import Place, block_words, level_words, spatial_relations
from physplan_sandbox.rules import TABLE, Case, instantiate, load_rules, motions
from physplan_sandbox.world.categories import CATEGORIES
from physplan_sandbox.world.render import FRAMES, WORLD_SIZE, nearness
from physplan_sandbox.world.scene import Scene
from physplan_sandbox.world.sprites import Sprite

WALL_DEPTH = 0.05


def object_ids(scene: Scene) -> dict[str, str]:
    """World key -> node id for the table, everything in the first frame, and what the events bring later.

    Numbered by category, then from left to right, as the parser does; new objects continue the count.
    """
    first = _first_frame(scene)
    keys = sorted(scene.things, key=lambda key: (CATEGORIES.index(first[key].category), _at(first[key].x)))
    ids = {TABLE: "table#1"}
    ids |= {key: f"{first[key].category}#{number}" for number, key in enumerate(keys, start=2)}
    new = [
        state["new"].split()[0] for event in _case(scene).events for state in event.states if "new" in state
    ]
    return ids | {key: f"{key}#{number}" for number, key in enumerate(new, start=len(ids) + 1)}


def true_graph(scene: Scene) -> StateGraph:
    """G_0: every object of the first frame with its true attributes and relations."""
    ids = object_ids(scene)
    first = _first_frame(scene)
    present = [TABLE, *sorted(scene.things, key=lambda key: int(ids[key].rpartition("#")[2]))]
    nodes = [Node(ids[key], ids[key].rpartition("#")[0], _attributes(scene, key, first)) for key in present]
    triples = [*scene.phenomenon.relations(scene.variant)]
    triples += [(TABLE, "support", key) for key in scene.distractors]
    physical = [(ids[a], r, ids[b]) for a, r, b in triples]
    places = [_place(scene, ids[key], first[key]) for key in present if key != TABLE]
    edges = [*physical, *spatial_relations(places, physical, ids[TABLE])]
    return StateGraph(nodes, [Edge(*edge) for edge in edges])


def true_chain(scene: Scene, num_frames: int = FRAMES) -> EventChain:
    """What really happens, verified like any plan."""
    graph = true_graph(scene)
    ids = object_ids(scene)
    bound = {key: ids[key] for key in (TABLE, *scene.things)}
    deltas, edits = instantiate(_case(scene), bound, graph)
    return EventChain.build(
        prompt=scene.prompt,
        num_frames=num_frames,
        graph=graph,
        deltas=deltas,
        edits=edits,
        motions=motions(_case(scene), bound, graph),
        provenance={"truth": scene.name},
    )


def uninvolved(chain: EventChain) -> tuple[str, ...]:
    """The objects of the first frame that no edit names: they must stay as they are."""
    named = {id for event in chain.events for edit in event.edits for id in edit.targets()}
    return tuple(id for id in chain.graph.ids if id not in named)


def _case(scene: Scene) -> Case:
    return load_rules().phenomena[scene.phenomenon.name].cases[scene.variant]


def _first_frame(scene: Scene) -> dict[str, Sprite]:
    """The main sprite of each object that can be seen in frame 0."""
    sprites: dict[str, Sprite] = {}
    for sprite in scene.sprites():
        if _at(sprite.alpha) > 0 and sprite.object in scene.things:
            sprites.setdefault(sprite.object, sprite)
    return sprites


def _attributes(scene: Scene, key: str, first: Mapping[str, Sprite]) -> dict[str, str]:
    if key == TABLE:
        return {}
    thing, sprite = scene.things[key], first[key]
    found = {"color": thing.color, **load_rules().kinds.get(thing.category, {}), **thing.attributes}
    if thing.category == "block":
        found["extent"] = block_words(_at(sprite.w), _at(sprite.h))
    elif thing.category == "water":
        found["extent"] = level_words(_at(sprite.level) * _at(sprite.h) / _at(first["glass"].h))
    elif thing.category == "pane":
        found["configuration"] = f"on the {scene.variant} track"
    return found


def _place(scene: Scene, id: str, sprite: Sprite) -> Place:
    x, y, wide, tall = (_at(value) / WORLD_SIZE for value in (sprite.x, sprite.y, sprite.w, sprite.h))
    c, s = abs(np.cos(_at(sprite.angle))), abs(np.sin(_at(sprite.angle)))
    w, h = wide * c + tall * s, wide * s + tall * c
    top = y - h / 2 if sprite.kind != "water" else y + h / 2 - h * _at(sprite.level)
    span = float(nearness(WORLD_SIZE, scene.backdrop.horizon)) - WALL_DEPTH
    near = (sprite.near - WALL_DEPTH) / span
    return Place(id=id, category=sprite.category, box=(x - w / 2, top, x + w / 2, y + h / 2), near=near)


def _at(value: object) -> float:
    """A sprite's number in the first frame."""
    return float(np.asarray(value, dtype=np.float64).reshape(-1)[0])
