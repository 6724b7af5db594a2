"""Wrong sketches over scenes: which share of each property is mended without each of the terms.

Every term has as many scenes as every other: those kinds of scenes take turns whose last event selects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from physplan.guidance.extensions.selection import chosen_terms
from physplan.pipeline.config_loading import to_plain
from physplan_bench.benchmark import Results
from physplan_bench.bootstrap import clopper_pearson
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import provenance
from physplan_bench.sandbox.scenes import PreparedScene, SceneStudy, work_alone
from physplan_bench.sandbox.wrong_sketch import (
    ARMS,
    WITHOUT,
    WRONG,
    find_task,
    measure_task,
    mended,
    spoilt,
    tasks_of,
)
from physplan_bench.tables import Table, format_cell, rows_of, titled
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import one_of_each, scene
from physplan_sandbox.world.scene import Scene

PROTOCOL = "sandbox wrong sketch 3"
# Chosen on validation scenes 600 to 626. The clocks leave the video model's layout a few steps, and not so
# many that it mends a copy or a size by itself; half a copy is still an instance (`instance_level`); and the
# terms stay apart: eq. 6's count fills no instance that is there, and no term is content with half an error.
SETTINGS: Mapping[str, Any] = {
    "guided_sketch.weak": 0.45,
    "guided_sketch.strong": 0.65,
    "guided_sketch.step_size": 8,
    "guided_sketch.schedule": {"repeats": [5, 5, 4], "travel": [0, -1]},
    "guided_sketch.measure.fill_matched": "none",
    "guided_sketch.measure.instance_level": 0.1,
    "guided_sketch.measure.satisfied_by": {
        "position": 0.0005,
        "appearance": 0.03,
        "extent": 0.02,
        "depth": 0.00002,
    },
}
LABELS = {"none": "no guidance", "all": "all terms"}


@dataclass(frozen=True, kw_only=True)
class WrongSketchStudy(SceneStudy):
    scenes: int = 20
    first: int = 1900
    terms: tuple[str, ...] = tuple(WRONG)
    diagonal: bool = False  # leave out only the term of the spoilt property, never another one
    name = "wrong-sketch"
    CHANGES = SETTINGS

    def cases(self) -> list[Case]:
        return [
            Case(
                name=f"wrong-{self.split}-{shown.index}-{term}",
                group=term,
                identity={
                    **self.identity(PROTOCOL, shown.index),
                    "phenomenon": shown.phenomenon.name,
                    "variant": shown.variant,
                    "term": term,
                    "arms": self.arms(term),
                    "guidance": to_plain(self.config.guided_sketch),
                },
            )
            for term in self.terms
            for shown in scenes_for(term, self.split, first=self.first, number=self.scenes)
        ]

    def arms(self, term: str) -> list[str]:
        return ["none", "all", WITHOUT.format(term)] if self.diagonal else list(ARMS)

    def setup(self) -> CaseFunction:
        work_alone()
        config, split = self.config, self.split

        def measure(case: Case, directory: Path) -> Mapping[str, Any]:
            about = case.identity
            shown = scene(split, about["scene"], phenomenon=about["phenomenon"], variant=about["variant"])
            here = PreparedScene(scene=shown, config=config)
            task = find_task(*here.drawn(0), about["term"])
            if task is None:
                return {"errors": None}
            return {
                "node": task.node,
                "errors": measure_task(here, task, config.guided_sketch, about["arms"]),
            }

        return measure

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        """Scenes whose sketch shows no error are left out, and counted."""
        found: dict[str, dict[str, list[int]]] = {arm: {} for arm in ARMS}
        left_out = dict.fromkeys(self.terms, 0)
        for case in self.cases():
            errors, term = results[case.name]["errors"], case.identity["term"]
            if errors is None or not spoilt(errors, term):
                left_out[term] += 1
                continue
            for arm in self.arms(term):
                good, of = found[arm].get(term, [0, 0])
                found[arm][term] = [good + mended(errors, arm), of + 1]
        return {
            "provenance": provenance(protocol=PROTOCOL, settings=self.chosen, seeds=[0]),
            "mended": found,
            "left_out": left_out,
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        def cell(shares: Mapping[str, list[int]], term: str) -> str | None:
            return mended_cell(*shares[term]) if term in shares else None

        return Table(
            title=f"Properties mended, {self.scenes} {self.split} scenes from {self.first} for each term",
            label="Guidance",
            columns=titled(*self.terms),
            rows=rows_of(
                {
                    LABELS.get(arm, arm): [cell(result["mended"][arm], term) for term in self.terms]
                    for arm in ARMS
                }
            ),
            note="The sketch has one property of one object wrong; the keyframes are the simulator's."
            " Mended: the video's error is at most half of the sketch's; in brackets the 95 % interval.",
        )


def mended_cell(good: int, of: int) -> str:
    """Share in percent with its exact interval, and the number of scenes."""
    share = clopper_pearson(good / of, of).scaled(100)
    return f"{format_cell(share, 0)} of {of}"


def scenes_for(term: str, split: str, *, first: int, number: int) -> list[Scene]:
    """Scenes whose last event selects the term, by the true plan; their kinds take turns."""
    kinds = kinds_for(term, split, index=first)
    turns = (kinds[k % len(kinds)] for k in range(number))
    return [
        scene(split, first + k, phenomenon=name, variant=variant) for k, (name, variant) in enumerate(turns)
    ]


@cache
def kinds_for(term: str, split: str, *, index: int) -> tuple[tuple[str, str], ...]:
    """Phenomena and variants. Of count those that bring or move something: all select it."""
    found = []
    for shown in one_of_each(split, index):
        chain = true_chain(shown)
        specs = chosen_terms(chain, len(chain.events) - 1, count="named", without=())
        if any(spec.name == term and tasks_of(chain, spec) for spec in specs):
            found.append((shown.phenomenon.name, shown.variant))
    return tuple(found)
