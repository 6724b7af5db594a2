"""The parts of a set in order: one benchmark, preset, method and seed each, as commands of `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from physplan_bench.sets.file import GENERATED, SetFile

SCORED_APART = ("phyground", "phygenbench")  # with --generate and without it: two commands, one budget


@dataclass(frozen=True, kw_only=True)
class Part:
    """`folder` holds its videos, cases and result; `equal_to` is the method whose time best_of_n may take."""

    benchmark: str
    method: str
    folder: Path
    options: Mapping[str, Any]
    preset: str = ""
    seed: int | None = None
    seeds: int = 1
    equal_to: str = ""

    @property
    def label(self) -> str:
        return f"{Path(self.preset).stem} {self.method}".strip()

    @property
    def title(self) -> str:
        return f"{self.benchmark}, {self.label}" + ("" if self.seed is None else f", seed {self.seed}")

    @property
    def result(self) -> Path:
        return self.folder / "result.json"

    @property
    def videos(self) -> Path:
        return self.folder / "videos"

    @property
    def ledgers(self) -> list[Path]:
        """Of the runs together, and of the judges: one for each of its commands."""
        judges = self.folder / "result.cases" / "calls" / "ledger.jsonl"
        return [self.folder / "videos.cases" / "ledger.jsonl", judges]

    def commands(self, engine: Sequence[str] = (), *, count: int | None = None) -> list[list[str]]:
        """Arguments of `physplan`; without a budget, which changes from part to part."""
        shared = ["evaluate", self.benchmark, *_flags(self.options), *engine]
        score = ["-o", str(self.result), "--label", self.label]
        if self.benchmark not in GENERATED:
            arm = f"best_of_n:{count}" if count and self.method.startswith("best_of_n") else self.method
            return [[*shared, *score, "--methods", arm, "--seeds", str(self.seeds), "--keep-videos"]]
        make = [GENERATED[self.benchmark], str(self.videos), "--generate", self.preset]
        make += ["--method", self.method.partition("@")[0], "--seed", str(self.seed)]
        make += ["--shared", str(self.folder.parents[1] / "shared")]
        make += ["--set", f"best_of_n.count={count}"] if count else []
        if self.benchmark in SCORED_APART:
            without = {name: value for name, value in self.options.items() if name != "judge"}
            first = ["evaluate", self.benchmark, *_flags(without), *engine, *make]
            return [first, [*shared, *score, GENERATED[self.benchmark], str(self.videos)]]
        return [[*shared, *score, *make]]


def parts_of(found: SetFile, folder: Path) -> list[Part]:
    """best_of_n last, because its N comes from the other methods' times."""
    parts = []
    for benchmark, options in found.benchmarks.items():
        for method in sorted(found.methods, key=lambda name: "@" in name):
            equal = method.partition("@")[2]
            if benchmark not in GENERATED:
                parts.append(
                    Part(
                        benchmark=benchmark,
                        method=method,
                        folder=folder / benchmark / _name(method),
                        options=options,
                        seeds=len(found.seeds),
                        equal_to=equal,
                    )
                )
                continue
            parts += [
                Part(
                    benchmark=benchmark,
                    method=method,
                    folder=folder / benchmark / _name(Path(preset).stem) / f"{_name(method)}-seed{seed}",
                    options=options,
                    preset=preset,
                    seed=seed,
                    equal_to=equal,
                )
                for preset in found.presets
                for seed in found.seeds
            ]
    return parts


def _name(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in text)


def _flags(options: Mapping[str, Any]) -> list[str]:
    flags: list[str] = []
    for name, value in options.items():
        if value is False or value is None:
            continue
        flags.append(f"--{name}")
        if isinstance(value, Sequence) and not isinstance(value, str):
            flags += map(str, value)
        elif value is not True:
            flags.append(str(value))
    return flags
