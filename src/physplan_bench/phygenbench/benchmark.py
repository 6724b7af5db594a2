"""PhyGenBench end to end: one case per video, then the PCA."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.generation import read_record
from physplan_bench.paper_tables import PHYGENBENCH_COLUMNS, reported_rows
from physplan_bench.phygenbench.aggregate import DOMAINS, aggregate
from physplan_bench.phygenbench.dataset import Entry
from physplan_bench.phygenbench.judging import judge_video
from physplan_bench.phygenbench.protocol import Judges
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.records import Record, records_of
from physplan_bench.run_records import add_run
from physplan_bench.tables import Column, Row, Table
from physplan_bench.videos import read_video

# Each judge alone: papers differ in which of the three they print.
SIDE_COLUMNS = (Column(title="closed"), Column(title="open"))


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """Which models judge. All of it changes the numbers, so all of it is part of every case's identity."""

    clip: str
    vqa: str
    closed: str  # gemini:MODEL or openai:MODEL[@URL], for order and naturalness
    open_order: str
    open_choice: str  # the same, or `clip`
    official_quirks: bool = False

    @property
    def name(self) -> str:
        opened = f"{self.open_order}, {self.open_choice}"
        return f"closed {self.closed}; open {opened}; frames {self.clip}, {self.vqa}"


@dataclass(frozen=True, kw_only=True)
class PhyGenBench:
    """`make_judges` is called in the worker: keys and models do not travel."""

    entries: Sequence[Entry]
    videos: Path
    config: JudgeConfig
    make_judges: Callable[[], Judges]
    name = "phygenbench"

    def cases(self) -> list[Case]:
        paths = [entry.video(self.videos) for entry in self.entries]
        if missing := [path for path in paths if not path.is_file()]:
            raise PhysPlanError(
                f"{len(missing)} of {len(paths)} videos are missing, the first is {missing[0]}."
            )
        return [
            Case(
                name=entry.key,
                identity={
                    "benchmark": "phygenbench 2",
                    "video": file_digest(path),
                    "entry": asdict(entry),
                    "judges": asdict(self.config),
                },
            )
            for entry, path in zip(self.entries, paths, strict=True)
        ]

    def setup(self) -> CaseFunction:
        judges = self.make_judges()
        entries = {entry.key: entry for entry in self.entries}

        def judge(case: Case, directory: Path) -> Mapping[str, Any]:
            entry = entries[case.name]
            video = read_video(entry.video(self.videos))
            return judge_video(video, entry, judges, official_quirks=self.config.official_quirks)

        return judge

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        scores = [
            {"main_category": entry.main_category, "sub_category": entry.sub_category, **results[entry.key]}
            for entry in self.entries
        ]
        about = provenance(protocol=self.name, judge=self.config.name, settings=asdict(self.config))
        made = read_record(self.videos)
        return {"provenance": about, **aggregate(scores), "scores": scores, "generation": made}

    def records(self, result: Mapping[str, Any], label: str, folder: Path) -> list[Record]:
        """With the videos, and what the runs that made them left beside these."""
        found = []
        for entry, one in zip(self.entries, records_of(result, label), strict=True):
            named = replace(one, scene=f"{entry.number:03d}")  # as the runs are named
            found.append(
                add_run(
                    replace(named, prompt=entry.caption, video=str(entry.video(self.videos))), self.videos
                )
            )
        return found

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        return pca_table(result, label)


def add_up(path: Path) -> dict[str, Any]:
    """The result of stage scores that were recorded elsewhere."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PhysPlanError(f"{path} cannot be read as a JSON list of stage scores ({error}).") from error
    about = provenance(protocol="phygenbench", judge="as recorded", settings={"scores": path.name})
    return {"benchmark": "phygenbench", "provenance": about, **aggregate(entries)}


def pca_table(result: Mapping[str, Any], label: str) -> Table:
    cells = [result["domains"][d]["pca"] if d in result["domains"] else None for d in DOMAINS]
    whole = "" if result["complete"] else f"Only {result['count']} videos: not the whole benchmark. "
    sides = (result["pca_closed"], result["pca_open"])
    return Table(
        title="PhyGenBench, PCA",
        columns=(*PHYGENBENCH_COLUMNS, *SIDE_COLUMNS),
        rows=(Row(label=label, cells=(*cells, result["pca"], *sides)),),
        note=f"{whole}Domains and average: ensemble of both. Judges: {result['provenance']['judge']}.",
        unit="PCA",
        reported=with_sides(reported_rows("phygenbench")),
    )


def with_sides(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The paper prints one figure and does not say of which judges."""
    return tuple(replace(row, cells=(*row.cells, *(None for _ in SIDE_COLUMNS))) for row in rows)


def build_judges(config: JudgeConfig, calls: Path | None, budget: float | None = None) -> Judges:
    """The judges that a config names, made in the worker: keys do not travel."""
    from physplan_bench.phygenbench.judges import connect_judge
    from physplan_bench.phygenbench.scorers import Blip2Scorer, ClipRanker

    ranker = ClipRanker(config.clip)
    closed = connect_judge(config.closed, calls, budget=budget)
    open_order = connect_judge(config.open_order, calls, budget=budget)
    return Judges(
        ranker=ranker,
        scorer=Blip2Scorer(config.vqa),
        closed_order=closed,
        closed_choice=closed,
        open_order=open_order,
        open_choice=(
            ranker
            if config.open_choice == "clip"
            else connect_judge(config.open_choice, calls, budget=budget)
        ),
    )
