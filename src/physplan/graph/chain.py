"""The event chain (eq. 1): the one artefact of planning, from which everything later is made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from physplan.graph.apply import apply
from physplan.graph.checks import check
from physplan.graph.deltas import PhysicalDelta
from physplan.graph.edits import Consume, GraphEdit, Spawn, edits_from_json, edits_to_json
from physplan.graph.errors import InvalidChain, ParseError, RejectedEdits
from physplan.graph.json_values import Limits, located, read_integer, read_list, read_object, read_string
from physplan.graph.motion import Motion, motions_from_json, motions_to_json
from physplan.graph.moving import check_motion
from physplan.graph.net_differences import net_difference
from physplan.graph.parsing import parse_file, parse_json
from physplan.graph.state import Node, StateGraph
from physplan.graph.timing import anchors

SCHEMA_VERSION = 1
_DERIVED = ("graph", "net_edits", "anchor")


@dataclass(frozen=True, slots=True)
class Event:
    """e_i: its delta and edits, the state G_i that they lead to, and the frame f_i at which it holds."""

    delta: PhysicalDelta
    edits: tuple[GraphEdit, ...]
    graph: StateGraph
    net_edits: tuple[GraphEdit, ...]
    anchor: int
    instruction: str | None = None
    motion: tuple[Motion, ...] = ()  # how objects get here; what is not named moves as its edits imply

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "delta": self.delta.to_json(),
            "edits": edits_to_json(self.edits),
            "anchor": self.anchor,
            "net_edits": edits_to_json(self.net_edits),
            "graph": self.graph.to_json(),
        }
        if self.motion:
            value["motion"] = motions_to_json(self.motion)
        return value if self.instruction is None else {**value, "instruction": self.instruction}


@dataclass(frozen=True, slots=True)
class EventChain:
    """G_0 and the events. Make one with `build`, which computes graphs, net edits and anchors."""

    prompt: str
    num_frames: int
    graph: StateGraph
    events: tuple[Event, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict, hash=False)
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def build(
        cls,
        *,
        prompt: str,
        num_frames: int,
        graph: StateGraph,
        deltas: Sequence[PhysicalDelta],
        edits: Sequence[Sequence[GraphEdit]],
        provenance: Mapping[str, Any] | None = None,
        instructions: Sequence[str | None] | None = None,
        motions: Sequence[Sequence[Motion]] | None = None,
    ) -> EventChain:
        """Check and apply each edit set in turn; raises `RejectedEdits` for the first that fails."""
        if not deltas:
            raise InvalidChain("a plan needs at least one event")
        instructions = [None] * len(deltas) if instructions is None else instructions
        motions = [()] * len(deltas) if motions is None else motions
        if not len(deltas) == len(edits) == len(instructions) == len(motions):
            raise InvalidChain(
                f"{len(deltas)} deltas need as many edit sets, instructions and motions, "
                f"not {len(edits)}, {len(instructions)} and {len(motions)}"
            )
        _require_prompt(prompt)
        frames = anchors([delta.fraction for delta in deltas], num_frames)
        spawns: dict[str, Spawn] = {}
        consumed: set[str] = set()
        events: list[Event] = []
        current = graph
        for i, (delta, edit_set) in enumerate(zip(deltas, edits, strict=True)):
            if violations := check(current, delta, edit_set, consumed):
                raise RejectedEdits(violations, f"the edit set of event {i + 1}")
            if violations := check_motion(current, delta, edit_set, motions[i]):
                raise RejectedEdits(violations, f"the motion of event {i + 1}")
            current = apply(current, edit_set)
            spawns |= {edit.id: edit for edit in edit_set if isinstance(edit, Spawn)}
            consumed |= {edit.o for edit in edit_set if isinstance(edit, Consume)}
            net = tuple(net_difference(graph, current, spawns))
            event = Event(delta, tuple(edit_set), current, net, frames[i], instructions[i], tuple(motions[i]))
            events.append(event)
        return cls(prompt, num_frames, graph, tuple(events), dict(provenance or {}))

    def verify(self) -> None:
        """Raise unless every graph, net edit and anchor follows from the deltas and the edits."""
        rebuilt = self.rebuilt()
        for i, (event, expected) in enumerate(zip(self.events, rebuilt.events, strict=True)):
            for name in _DERIVED:
                if getattr(event, name) != getattr(expected, name):
                    raise InvalidChain(
                        f"{name} of event {i + 1} does not follow from the deltas and edits: rebuild it"
                    )
        if self.schema_version != SCHEMA_VERSION:
            raise InvalidChain(f"schema version {self.schema_version} is not {SCHEMA_VERSION}")

    def rebuilt(self) -> EventChain:
        """The chain with everything that is computed computed again."""
        return self.build(
            prompt=self.prompt,
            num_frames=self.num_frames,
            graph=self.graph,
            deltas=[event.delta for event in self.events],
            edits=[event.edits for event in self.events],
            provenance=self.provenance,
            instructions=[event.instruction for event in self.events],
            motions=[event.motion for event in self.events],
        )

    @property
    def graphs(self) -> tuple[StateGraph, ...]:
        """G_0, ..., G_K."""
        return (self.graph, *(event.graph for event in self.events))

    @property
    def anchors(self) -> tuple[int, ...]:
        return tuple(event.anchor for event in self.events)

    def node(self, id: str) -> Node:
        """An object as it was when it first appeared, consumed since or not."""
        return next((graph.node(id) for graph in self.graphs if id in graph), None) or self.graph.node(id)

    def origin(self, id: str) -> str:
        """The object of G_0 that `id` comes from by lineage: where in the first frame it belongs."""
        while (source := self.node(id).source) is not None and id not in self.graph:
            id = source
        return id

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": self.schema_version,
            "prompt": self.prompt,
            "num_frames": self.num_frames,
            "graph": self.graph.to_json(),
            "events": [event.to_json() for event in self.events],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_json(
        cls, value: object, *, limits: Limits = Limits.FILE, recompute: bool = False, at: str = "$"
    ) -> EventChain:
        """Read a plan and check all of it.

        Graphs, net edits and anchors of events may be left out. Where they are given they must follow from
        the rest, unless `recompute` says that the plan was edited by hand and they are to be made anew.
        """
        fields = read_object(
            value, at, ("schema_version", "prompt", "num_frames", "graph", "events"), ("provenance",)
        )
        if (version := read_integer(fields["schema_version"], f"{at}.schema_version")) != SCHEMA_VERSION:
            raise ParseError(
                f"{at}.schema_version", f"this version reads schema {SCHEMA_VERSION}, not {version}"
            )
        read_string(fields["prompt"], f"{at}.prompt", limits.max_text)
        with located(f"{at}.prompt"):
            _require_prompt(fields["prompt"])
        num_frames = read_integer(fields["num_frames"], f"{at}.num_frames")
        graph = StateGraph.from_json(fields["graph"], limits=limits, at=f"{at}.graph")
        entries = [
            read_object(entry, f"{at}.events[{i}]", ("delta", "edits"), (*_DERIVED, "instruction", "motion"))
            for i, entry in enumerate(read_list(fields["events"], f"{at}.events", limits.max_events))
        ]
        deltas = [
            PhysicalDelta.from_json(entry["delta"], limits=limits, at=f"{at}.events[{i}].delta")
            for i, entry in enumerate(entries)
        ]
        edits = [
            edits_from_json(entry["edits"], limits=limits, at=f"{at}.events[{i}].edits")
            for i, entry in enumerate(entries)
        ]
        motions = [
            motions_from_json(entry.get("motion", []), limits=limits, at=f"{at}.events[{i}].motion")
            for i, entry in enumerate(entries)
        ]
        instructions = [entry.get("instruction") for entry in entries]
        for i, instruction in enumerate(instructions):
            if instruction is not None:
                read_string(instruction, f"{at}.events[{i}].instruction", limits.max_text)
        read_object(provenance := fields.get("provenance", {}), f"{at}.provenance")
        with located(f"{at}.events"):
            chain = cls.build(
                prompt=fields["prompt"],
                num_frames=num_frames,
                graph=graph,
                deltas=deltas,
                edits=edits,
                provenance=provenance,
                instructions=instructions,
                motions=motions,
            )
        if not recompute:
            _compare_derived(chain, entries, limits, at)
        return chain

    def save(self, path: str | os.PathLike[str]) -> None:
        from physplan.files import write_json

        write_json(path, self.to_json())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, limits: Limits = Limits.FILE, recompute: bool = False
    ) -> EventChain:
        def parse(text: bytes, limits: Limits) -> EventChain:
            return cls.from_json(parse_json(text, limits), limits=limits, recompute=recompute)

        return parse_file(path, parse, limits)


def _compare_derived(chain: EventChain, entries: list[dict[str, Any]], limits: Limits, at: str) -> None:
    for i, (event, entry) in enumerate(zip(chain.events, entries, strict=True)):
        here = f"{at}.events[{i}]"
        given: dict[str, Any] = {}
        if "graph" in entry:
            given["graph"] = StateGraph.from_json(entry["graph"], limits=limits, at=f"{here}.graph")
        if "net_edits" in entry:
            given["net_edits"] = edits_from_json(entry["net_edits"], limits=limits, at=f"{here}.net_edits")
        if "anchor" in entry:
            given["anchor"] = read_integer(entry["anchor"], f"{here}.anchor")
        for name, value in given.items():
            if value != getattr(event, name):
                raise ParseError(
                    f"{here}.{name}",
                    "does not follow from the deltas and edits: delete it, and it is computed anew",
                )


def _require_prompt(prompt: object) -> None:
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidChain("the prompt is empty: say in a sentence what happens")
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise InvalidChain(
            "the prompt contains a character that is not valid text (a lone surrogate)"
        ) from None
