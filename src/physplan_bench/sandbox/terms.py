"""How often a term is unsatisfied: at the true frame, where none should be, and at the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from physplan.errors import PhysPlanError
from physplan.graph import EventChain, Term
from physplan.guidance.config import MeasureConfig
from physplan.guidance.objective import GraphObjective, measure_frame
from physplan.methods import find
from physplan.perception import Evidence
from physplan.pipeline.config_loading import to_plain
from physplan.sketch.compose import aligned_evidence
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import provenance
from physplan_bench.sandbox.scenes import PreparedScene, SceneStudy, weights_digest, work_alone
from physplan_bench.tables import Table, rows_of, titled
from physplan_sandbox.world.phenomena import scene

PROTOCOL = "sandbox terms 2"
KEYFRAMES = ("raw", "aligned", "composed")
FRAMES = ("true", "first")
NAMES = tuple(term.value for term in (Term.COUNT, Term.POSITION, Term.EXTENT, Term.APPEARANCE, Term.DEPTH))
Shares = dict[str, list[int]]  # per term: unsatisfied, measured


@dataclass(frozen=True, kw_only=True)
class TermStudy(SceneStudy):
    """Terms at the plan's anchors, so that errors of its timing are in all figures."""

    scenes: int = 24
    first: int = 1800
    levels: tuple[int, ...] = (1, 3)
    method: str = "guided_sketch"  # whose settings of `measure`
    name = "terms"

    @property
    def measure(self) -> MeasureConfig:
        found = find(self.method).guidance(self.config)
        if found is None:
            raise PhysPlanError(f"{self.method} measures no terms: choose guided_sketch or physplan.")
        return found.measure

    def cases(self) -> list[Case]:
        return [
            Case(
                name=f"terms-{self.split}-{index}-{level}",
                group=f"level {level}",
                identity={
                    **self.identity(PROTOCOL, index),
                    "level": level,
                    "measure": to_plain(self.measure),
                    "perception": to_plain(self.config.perception),
                },
            )
            for index in range(self.first, self.first + self.scenes)
            for level in self.levels
        ]

    def setup(self) -> CaseFunction:
        work_alone()
        config, split, terms = self.config, self.split, self.measure

        def measure(case: Case, directory: Path) -> Mapping[str, Any]:
            here = PreparedScene(scene=scene(split, case.identity["scene"]), config=config)
            chain, evidence = here.drawn(case.identity["level"])
            return {kind: at_frames(here, chain, seen, terms) for kind, seen in each_kind(chain, evidence)}

        return measure

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        found: dict[str, Shares] = {}
        for case in self.cases():
            for kind in KEYFRAMES:
                for frame in FRAMES:
                    row = found.setdefault(f"{frame} frame, level {case.identity['level']}, {kind}", {})
                    for term, (bad, of) in results[case.name][kind][frame].items():
                        sums = row.setdefault(term, [0, 0])
                        row[term] = [sums[0] + bad, sums[1] + of]
        settings = {**self.chosen, "weights": weights_digest(), "measure": to_plain(self.measure)}
        return {"provenance": provenance(protocol=PROTOCOL, settings=settings), "unsatisfied": found}

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        return Table(
            title=f"Unsatisfied terms of {self.method}, {self.scenes} {self.split} scenes from {self.first}",
            label="Frame, editor, keyframes",
            columns=(*titled(*NAMES), *titled("all %", digits=0)),
            rows=rows_of(
                {
                    where: (*_shares(row), 100 * _sum(row, 0) / max(_sum(row, 1), 1))
                    for where, row in sorted(result["unsatisfied"].items(), reverse=True)
                }
            ),
            note=(
                "Unsatisfied of all that were measured, at the plan's anchors. True frame: the simulator's,"
                " where every term should be satisfied; first frame: before anything happened, edits are due."
            ),
        )


def each_kind(chain: EventChain, evidence: Evidence) -> Iterator[tuple[str, Evidence]]:
    yield "raw", evidence
    yield "aligned", aligned_evidence(chain, evidence)
    yield "composed", aligned_evidence(chain, evidence, composed=True)


@torch.no_grad()
def at_frames(
    here: PreparedScene, chain: EventChain, evidence: Evidence, config: MeasureConfig
) -> dict[str, Shares]:
    """Per frame and term, how many are unsatisfied and how many were measured."""
    clip = torch.from_numpy(here.truth.frames).permute(0, 3, 1, 2) / 255
    objective = GraphObjective(
        chain,
        evidence,
        encoder=here.backends.encoder,
        depth=here.backends.depth,
        size=(clip.shape[-2], clip.shape[-1]),
        device=torch.device("cpu"),
        config=config,
    )
    found: dict[str, Shares] = {}
    for frame in FRAMES:
        bad, of = Counter[str](), Counter[str]()
        for number, event in enumerate(chain.events):
            picture = clip[event.anchor if frame == "true" else 0]
            known = [m for m in measure_frame(objective, number, picture) if m.value is not None]
            of.update(m.spec.name for m in known)
            bad.update(m.spec.name for m in known if float(m.value) > config.limit(m.spec.name))  # type: ignore[arg-type]
        found[frame] = {term: [bad[term], of[term]] for term in of}
    return found


def _shares(row: Mapping[str, Sequence[int]]) -> tuple[str | None, ...]:
    return tuple(f"{row[name][0]}/{row[name][1]}" if name in row else None for name in NAMES)


def _sum(row: Mapping[str, Sequence[int]], place: int) -> int:
    return sum(shares[place] for shares in row.values())
