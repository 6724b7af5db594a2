"""Wrong sketches over scenes: which share each arm mends, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import quiet_libraries
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import provenance
from physplan_bench.sandbox.scenes import Setting, check_honoured, weights_digest
from physplan_bench.sandbox.wrong_sketch import ARMS, WRONG, find_task, measure_task, mended
from physplan_bench.tables import Column, Row, Table
from physplan_sandbox.world.phenomena import scene

PROTOCOL = "sandbox wrong sketch 1"
WEAK, STRONG = 0.4, 0.6  # clocks that leave the video model half of the steps
LABELS = {
    "none": "no guidance",
    "all": "all terms",
    "without": "all but the matching term",
    "only": "the matching term alone",
}


@dataclass(frozen=True, kw_only=True)
class WrongSketchStudy:
    scenes: int = 20
    split: str = "test"
    first: int = 1900
    config: Config
    name = "wrong-sketch"

    @classmethod
    def of_preset(cls, overrides: Mapping[str, Any] | None = None, **fields: Any) -> WrongSketchStudy:
        given = {"guided_sketch.weak": WEAK, "guided_sketch.strong": STRONG, **(overrides or {})}
        config = with_defaults(load_config("sandbox", given))
        check_honoured(config)
        return cls(config=config, **fields)

    def cases(self) -> list[Case]:
        return [
            Case(
                name=f"wrong-{self.split}-{index}-{term}",
                group=term,
                identity={
                    "benchmark": PROTOCOL,
                    "weights": weights_digest(),
                    "split": self.split,
                    "scene": index,
                    "term": term,
                    "guidance": to_plain(self.config.guided_sketch),
                },
            )
            for index in range(self.first, self.first + self.scenes)
            for term in WRONG
        ]

    def setup(self) -> CaseFunction:
        quiet_libraries()
        torch.set_num_threads(1)
        config, split = self.config, self.split

        def measure(case: Case, directory: Path) -> Mapping[str, Any]:
            here = Setting(scene=scene(split, case.identity["scene"]), config=config)
            task = find_task(*here.drawn(0), case.identity["term"])
            if task is None:
                return {"errors": None}
            return {"node": task.node, "errors": measure_task(here, task, config.guided_sketch)}

        return measure

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        found: dict[str, dict[str, list[int]]] = {arm: {} for arm in ARMS}
        for case in self.cases():
            errors = results[case.name]["errors"]
            if errors is None or not errors["sketch"]:  # nothing to spoil, or no error to see
                continue
            for arm in ARMS:
                good, of = found[arm].get(case.identity["term"], [0, 0])
                found[arm][case.identity["term"]] = [good + mended(errors, arm), of + 1]
        settings = {"split": self.split, "first": self.first, "scenes": self.scenes}
        return {
            "provenance": provenance(protocol=PROTOCOL, settings=settings, seeds=[0]),
            "mended": found,
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        def cell(shares: Mapping[str, list[int]], term: str) -> str | None:
            return f"{shares[term][0]}/{shares[term][1]}" if term in shares else None

        return Table(
            title=f"Properties mended, {self.scenes} {self.split} scenes from {self.first}",
            label="Guidance",
            columns=tuple(Column(title=term) for term in WRONG),
            rows=tuple(
                Row(label=LABELS[arm], cells=tuple(cell(result["mended"][arm], term) for term in WRONG))
                for arm in ARMS
            ),
            note="The sketch has one property of one object wrong; the keyframes are the simulator's."
            " Mended: the video's error is at most half of the sketch's.",
        )
