"""How well the sandbox's parser and reasoner do on test scenes; and its editor's keyframes, to look at.

    python -m benchmarks.sandbox_plans --scenes 100
    python -m benchmarks.sandbox_plans --perception oracle --sheet out/keyframes.png
    python -m benchmarks.sandbox_plans --perception oracle --subset stories --scenes 84

It begins with how long the true stories of these scenes are. `--perception oracle` uses the renderer's own
masks and depth: what is left are faults of parser, rules and editor.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw

from physplan.errors import PhysPlanError
from physplan.graph import RELATIONS, EventChain, GraphError, StateGraph
from physplan.keyframes.protocol import EditRequest
from physplan.perception import first_frame_evidence, look
from physplan.pictures import to_tensor
from physplan.reasoning import PlanRecord, plan
from physplan_sandbox.editor import SandboxEditor
from physplan_sandbox.reasoner import SandboxReasoner
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import ALL, PHENOMENA, SUBSETS, scene, scenes
from physplan_sandbox.world.render import FRAMES
from physplan_sandbox.world.scene import Scene

Perception = tuple[Any, Any]  # a segmenter and a depth estimator
AIMS = {"nodes": 0.95, "physical relations": 0.90, "plans verified": 0.98, "plans equal to the truth": 0.95}
LENGTH, LONG = 2.2, 0.35  # of all scenes: events per scene, and the share with three or more


@dataclass
class Tally:
    """Counts of what is right, out of what is there or claimed to be."""

    right: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, right: int, total: int) -> None:
        self.right[name] += right
        self.total[name] += total

    def share(self, name: str) -> float:
        return self.right[name] / max(self.total[name], 1)


def common_names(ids: Iterable[str]) -> dict[str, str]:
    """Identifiers by category and rank, so that two numberings of the same scene can be compared."""
    ranks: Counter[str] = Counter()
    names = {}
    for id in sorted(ids, key=lambda id: int(id.rpartition("#")[2])):
        category = id.rpartition("#")[0]
        names[id] = f"{category} {ranks[category]}"
        ranks[category] += 1
    return names


def relations(graph: StateGraph, kind: str) -> set[tuple[str, str, str]]:
    names = common_names(graph.ids)
    return {(names[e.a], e.r, names[e.b]) for e in graph.edges if RELATIONS[e.r].kind == kind}


def operators(chain: EventChain) -> list[set[tuple[str, ...]]]:
    """Per event: each edit's operator, objects, and attribute key or relation."""
    names = common_names(dict.fromkeys(id for graph in chain.graphs for id in graph.ids))
    return [
        {
            (e.op, getattr(e, "key", getattr(e, "r", "")), *(names[t] for t in e.targets()))
            for e in event.edits
        }
        for event in chain.events
    ]


def compare(tally: Tally, world: Scene, graph: StateGraph, chain: EventChain | None) -> None:
    truth = true_chain(world)
    for name, found, wanted in (
        ("nodes", set(common_names(graph.ids).values()), set(common_names(truth.graph.ids).values())),
        ("physical relations", relations(graph, "physical"), relations(truth.graph, "physical")),
        ("spatial relations", relations(graph, "spatial"), relations(truth.graph, "spatial")),
    ):
        tally.add(name, len(found & wanted), len(found | wanted))
        if found != wanted:
            tally.notes.append(
                f"{world.name}: missed {sorted(wanted - found)}, invented {sorted(found - wanted)}"
            )
    for node in (graph.node(id) for id in graph.ids if id in truth.graph):
        wanted_attributes = truth.graph.node(node.id).attributes
        tally.add(
            "attributes",
            sum(node.attributes.get(k) == v for k, v in wanted_attributes.items()),
            len(wanted_attributes),
        )
    tally.add("plans verified", int(chain is not None), 1)
    tally.add("plans equal to the truth", int(chain is not None and operators(chain) == operators(truth)), 1)


def lengths(scenes: Sequence[Scene]) -> tuple[float, float]:
    """The true chains' mean number of events, and the share with three or more."""
    events = [len(true_chain(world).events) for world in scenes]
    return sum(events) / max(len(events), 1), sum(n >= 3 for n in events) / max(len(events), 1)


def measure_plans(
    scenes: Sequence[Scene], perception_for: Callable[[Scene], Perception], size: int = 96
) -> Tally:
    tally = Tally()
    for world in scenes:
        segmenter, depth = perception_for(world)
        record = PlanRecord()
        picture = Image.fromarray(world.render(size=size).frames[0])
        chain: EventChain | None = None
        try:
            chain = plan(
                SandboxReasoner(segmenter=segmenter, depth=depth),
                picture,
                world.prompt,
                FRAMES,
                record=record,
            )
            chain.verify()
        except (PhysPlanError, GraphError) as error:
            tally.notes.append(f"{world.name}: {error}")
        compare(tally, world, record.graph or StateGraph(), chain)
    return tally


def contact_sheet(
    scenes: Sequence[Scene], perception_for: Callable[[Scene], Perception], *, size: int = 96, scale: int = 2
) -> Image.Image:
    """Per scene: the first frame, then for each event the truth at its anchor and the editor's keyframe."""
    rows = []
    for world in scenes:
        segmenter, depth = perception_for(world)
        clip = world.render(size=size)
        picture = Image.fromarray(clip.frames[0])
        chain = plan(SandboxReasoner(segmenter=segmenter, depth=depth), picture, world.prompt, FRAMES)
        seen = look(chain.graph, to_tensor(picture), segmenter=segmenter, depth=depth)
        first = first_frame_evidence(chain.graph, seen)
        tiles = [picture]
        for index, event in enumerate(chain.events):
            request = EditRequest(
                image=picture, instruction=event.instruction or "", event=index, chain=chain, first=first
            )
            tiles += [Image.fromarray(clip.frames[event.anchor]), SandboxEditor().edit(request)]
        rows.append((world, tiles))
    side = size * scale
    columns = max(len(tiles) for _, tiles in rows)
    sheet = Image.new("RGB", (columns * (side + 6), len(rows) * (side + 18)), "white")
    draw = ImageDraw.Draw(sheet)
    for row, (world, tiles) in enumerate(rows):
        top = row * (side + 18)
        for column, tile in enumerate(tiles):
            state, who = divmod(column + 1, 2)
            text = f"{('truth', 'editor')[who]}, state {state}" if column else world.prompt
            draw.text((column * (side + 6) + 2, top + 3), text, fill="black")
            sheet.paste(tile.resize((side, side), Image.Resampling.LANCZOS), (column * (side + 6), top + 16))
    return sheet


def trained_perception(_: Scene) -> Perception:
    from physplan_sandbox.components import load_depth, load_segmenter

    return load_segmenter(), load_depth()


def oracle_perception(world: Scene) -> Perception:
    from physplan_testing.world_oracle import Oracle

    oracle = Oracle()
    oracle.show(world)
    return oracle, oracle


def _verdict(value: float, aim: float, counts: bool) -> str:
    return f"  (aim {aim:g}: {'met' if value >= aim else 'MISSED'})" if counts else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=100)
    parser.add_argument("--start", type=int, default=0, help="number of the first scene")
    parser.add_argument("--subset", choices=(ALL, *SUBSETS), default=ALL, help="which scenes")
    parser.add_argument("--perception", choices=("trained", "oracle"), default="trained")
    parser.add_argument(
        "--sheet", type=Path, help="also draw truth and keyframes of one scene per phenomenon"
    )
    parser.add_argument("--verbose", action="store_true", help="say what was wrong, scene by scene")
    args = parser.parse_args()
    torch.set_num_threads(1)  # the networks are small: more threads only wait for each other
    perception_for = trained_perception if args.perception == "trained" else oracle_perception
    chosen = list(scenes("test", args.scenes, start=args.start, subset=args.subset))
    mean, long = lengths(chosen)
    total, counts = len(chosen), args.subset == ALL
    print(f"{'events per scene':26s} {mean:7.2f}  of {total}{_verdict(mean, LENGTH, counts)}")
    print(f"{'three events or more':26s} {long:7.1%}  of {total}{_verdict(long, LONG, counts)}")
    tally = measure_plans(chosen, perception_for)
    for name in tally.total:
        aim = AIMS.get(name, 0.0)
        print(
            f"{name:26s} {tally.share(name):7.1%}  of {tally.total[name]}"
            f"{_verdict(tally.share(name), aim, name in AIMS)}"
        )
    if args.verbose:
        print(*tally.notes, sep="\n")
    if args.sheet:
        shown = [scene("test", index, phenomenon=name) for index, name in enumerate(PHENOMENA)]
        args.sheet.parent.mkdir(parents=True, exist_ok=True)
        contact_sheet(shown, perception_for).save(args.sheet)
    return 0 if all(tally.share(name) >= aim for name, aim in AIMS.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
