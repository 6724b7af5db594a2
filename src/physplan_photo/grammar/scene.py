"""Where everything is while a sentence is planned: boxes after each event, supports, free numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from physplan.errors import PhysPlanError
from physplan.graph import (
    Consume,
    GraphEdit,
    Link,
    Motion,
    NewObject,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    apply,
)
from physplan.graph.moving import HOLDING
from physplan_photo.grammar.clauses import Noun
from physplan_photo.graph.layout import Extent, Mask, extent_of, surface_at

FRAME_MARGIN = 0.03  # heights of the frame kept free at its edge


@dataclass(kw_only=True)
class Event:
    """One step of the sentence while it is parsed."""

    states: dict[str, StateChange] = field(default_factory=dict)
    edits: list[GraphEdit] = field(default_factory=list)
    motions: dict[str, Motion] = field(default_factory=dict)
    simulated: dict[str, Motion] = field(default_factory=dict)  # where the simulation ends otherwise
    weight: float = 1.0  # how long it lasts beside the others

    def change(self, id: str, state: str, rule: str, *edits: GraphEdit, new: NewObject | None = None) -> None:
        """A listed object with its edits; a second state of one object keeps the first's words."""
        known = self.states.get(id)
        if known is None or (new is not None and known.new_object is None):
            self.states[id] = StateChange(
                id, known.state if known else state, known.rule if known else rule, new
            )
        self.edits += [edit for edit in edits if edit not in self.edits]


@dataclass(kw_only=True)
class Scene:
    """The state before the next event. `width` is the frame's width over its height."""

    graph: StateGraph
    masks: Mapping[str, Mask]
    width: float
    boxes: dict[str, Extent] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        self.boxes = {id: extent_of(mask) for id, mask in self.masks.items()}
        self.number = len(self.graph)

    def find(self, noun: Noun) -> str:
        """The object that a noun names: the whole name, its last word, then which of several."""
        names = {node.id: node.category.casefold() for node in self.graph.nodes}
        wanted = noun.name.casefold()
        found = [id for id, name in names.items() if name == wanted]
        found = found or [id for id, name in names.items() if name == f"{noun.pick} {wanted}"]
        found = found or [id for id, name in names.items() if name.split()[-1] == wanted.split()[-1]]
        if not found:
            known = ", ".join(f"the {node.category}" for node in self.graph.nodes) or "nothing"
            raise PhysPlanError(
                f"The plan knows no {noun.name!r}, only {known}: name the object as in the sentence, such as "
                f'--object "{noun.name}:left,top,right,bottom".'
            )
        return self._picked(found, noun.pick)

    def _picked(self, ids: list[str], pick: str) -> str:
        seen = [id for id in ids if id in self.boxes]
        if len(ids) == 1 or not seen:
            return ids[0]
        keys = {
            "right": lambda b: -b.centre[0],
            "largest": lambda b: -b.width * b.height,
            "smallest": lambda b: b.width * b.height,
            "top": lambda b: b.centre[1],
            "bottom": lambda b: -b.centre[1],
            "middle": lambda b: abs(b.centre[0] - self.width / 2),
        }
        return min(seen, key=lambda id: keys.get(pick, lambda b: b.centre[0])(self.boxes[id]))

    def box(self, id: str) -> Extent:
        if id not in self.boxes:
            raise PhysPlanError(
                f"The {self.graph.node(id).category} has no outline in the picture: give it with --object."
            )
        return self.boxes[id]

    def holders(self, id: str) -> list[tuple[str, str]]:
        return [(edge.a, edge.r) for edge in self.graph.edges_of(id) if edge.b == id and edge.r in HOLDING]

    def let_go(self, id: str, besides: str | None = None) -> list[Unlink]:
        """No longer held, touched or neighboured where it was."""
        return [
            Unlink(edge.a, edge.r, edge.b)
            for edge in self.graph.edges_of(id)
            if edge.r in (*HOLDING, "contact", "near") and edge.a != id and edge.a != besides
        ] + [
            Unlink(edge.a, edge.r, edge.b)
            for edge in self.graph.edges_of(id)
            if edge.r in ("contact", "near") and edge.a == id and edge.b != besides
        ]

    def carried(self, id: str) -> list[str]:
        """What stands on, in or is fixed to an object, and goes with it."""
        return [edge.b for edge in self.graph.edges_of(id) if edge.a == id and edge.r in HOLDING]

    def new(self, name: str) -> str:
        self.number += 1
        return f"{name.replace(' ', '_')}#{self.number}"

    def spawn(self, event: Event, source: str, name: str, rule: str, **attributes: str) -> str:
        """A new object that comes from `source`, announced by it."""
        id = self.new(name)
        while id in self.graph:
            id = self.new(name)
        event.change(source, f"gives off {name}", rule, new=NewObject(id, source))
        event.edits.append(Spawn(id, source, name, attributes))
        return id

    def surface(self, target: str, x: float) -> float:
        """Where something lands on `target`; an unseen ground lies near the frame's lower edge."""
        if target not in self.masks or target not in self.boxes:
            return 1.0 - FRAME_MARGIN
        first = extent_of(self.masks[target])
        now = self.boxes[target]
        dx, dy = now.centre[0] - first.centre[0], now.bottom - first.bottom
        found = surface_at(self.masks[target], x - dx)
        return found + dy if found is not None else now.top

    def done(self, event: Event) -> None:
        """The state after an event."""
        self.graph = apply(self.graph, event.edits)
        for id, motion in event.motions.items():
            if id in self.boxes and motion.shift is not None:
                self.boxes[id] = self.boxes[id].moved(*motion.shift)
            given = dict(motion.parameters)
            if id in self.boxes and isinstance(given.get("scale"), float):
                self.boxes[id] = self.boxes[id].scaled(float(given["scale"]))  # type: ignore[arg-type]
        for edit in event.edits:
            if isinstance(edit, Consume):
                self.boxes.pop(edit.o, None)


__all__ = ["Event", "Link", "Scene", "Unlink", "Update"]
