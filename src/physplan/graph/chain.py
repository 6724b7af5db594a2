"""The event chain (eq. 1): the one artefact of planning, from which everything later is made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from physplan import plugins
from physplan.graph import editing
from physplan.graph.apply import apply
from physplan.graph.checks import check
from physplan.graph.deltas import PhysicalDelta
from physplan.graph.edits import Consume, GraphEdit, Spawn, edits_from_json, edits_to_json
from physplan.graph.errors import GraphError, InvalidChain, ParseError, RejectedEdits
from physplan.graph.instructions import UNKNOWN, USER, Change, Written
from physplan.graph.json_values import Limits, located, read_integer, read_list, read_object, read_string
from physplan.graph.motion import Motion, motions_from_json, motions_to_json
from physplan.graph.moving import check_motion
from physplan.graph.net_differences import net_difference
from physplan.graph.parsing import parse_file, parse_json
from physplan.graph.state import Node, StateGraph
from physplan.graph.timing import anchors

SCHEMA_VERSION = 1
_DERIVED = ("graph", "net_edits", "anchor")
_WORDS = ("instruction", "instruction_by", "instruction_for")


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
    written: Written | None = None  # of the instruction: by whom, for which net edits

    @property
    def by_user(self) -> bool:
        """Whether the instruction is a person's own."""
        return bool((self.instruction or "").strip()) and self.written is not None and self.written.by == USER

    @property
    def outdated(self) -> Change | None:
        """What changed since the instruction was written; None for a person's own, which stays."""
        if self.instruction is None or self.by_user:
            return None
        return (self.written or Written(UNKNOWN)).change(self.net_edits, self.instruction)

    def instructed(self, text: str, by: str) -> Event:
        """The event with an instruction for its net edits."""
        return replace(self, instruction=text, written=Written.to(self.net_edits, text, by))

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
        if self.instruction is not None:
            value["instruction"] = self.instruction
            if self.written is not None:
                value["instruction_by"] = self.written.by
                value |= {"instruction_for": self.written.binding} if self.written.binding else {}
        return value


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
        """Check and apply each edit set in turn; raises `RejectedEdits` for the first that fails.

        `instructions` are a person's own words for the keyframes, and stay theirs (`instruction_by`).
        """
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
            event = Event(delta, tuple(edit_set), current, net, frames[i], motion=tuple(motions[i]))
            words = instructions[i]
            events.append(event if words is None else event.instructed(words, USER))
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
        """The chain with everything that is computed computed again; instructions keep their binding."""
        chain = self.build(
            prompt=self.prompt,
            num_frames=self.num_frames,
            graph=self.graph,
            deltas=[event.delta for event in self.events],
            edits=[event.edits for event in self.events],
            provenance=self.provenance,
            motions=[event.motion for event in self.events],
        )
        return chain.with_words([(event.instruction, event.written) for event in self.events])

    def with_fraction(self, event: int, fraction: float) -> EventChain:
        """The chain with another length of one event, verified again (`graph.editing`)."""
        return editing.with_fraction(self, event, fraction)

    def without_event(self, event: int) -> EventChain:
        return editing.without_event(self, event)

    def without_edit(self, event: int, edit: GraphEdit | str | int) -> EventChain:
        return editing.without_edit(self, event, edit)

    def _repr_svg_(self) -> str:
        """The plan as a picture, for a notebook."""
        drawn: str = plugins.load("physplan.drawing.notebook:plan_svg")(self)
        return drawn

    def with_words(self, words: Sequence[tuple[str | None, Written | None]]) -> EventChain:
        """The chain with these instructions, each with its author and binding."""
        events = (
            replace(event, instruction=text, written=written if text is not None else None)
            for event, (text, written) in zip(self.events, words, strict=True)
        )
        return replace(self, events=tuple(events))

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
            read_object(entry, f"{at}.events[{i}]", ("delta", "edits"), (*_DERIVED, *_WORDS, "motion"))
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
        words = [_words(entry, limits, f"{at}.events[{i}]") for i, entry in enumerate(entries)]
        read_object(provenance := fields.get("provenance", {}), f"{at}.provenance")
        with located(f"{at}.events"):
            chain = cls.build(
                prompt=fields["prompt"],
                num_frames=num_frames,
                graph=graph,
                deltas=deltas,
                edits=edits,
                provenance=provenance,
                motions=motions,
            ).with_words(words)
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


def _words(entry: dict[str, Any], limits: Limits, at: str) -> tuple[str | None, Written | None]:
    """The instruction of an event, its author and what it is bound to.

    In a plan from before bindings were stored it is bound to the net edits stored beside it.
    """
    for name in _WORDS:
        if entry.get(name) is not None:
            read_string(entry[name], f"{at}.{name}", limits.max_text)
    text = entry.get("instruction")
    if text is None:
        return None, None
    by, bound = entry.get("instruction_by") or UNKNOWN, entry.get("instruction_for")
    if bound is None and "net_edits" in entry:
        try:
            stored = edits_from_json(entry["net_edits"], limits=limits, at=f"{at}.net_edits")
        except GraphError:  # reported by `_compare_derived`, unless it is computed again
            return text, Written(by)
        return text, Written.to(stored, text, by)
    return text, Written(by, bound or "")


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
