"""FID and FVD of two folders of videos: every video once, one case per video, clips drawn by seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from physplan.errors import PhysPlanError
from physplan.files import atomic_path
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case, CaseStore
from physplan_bench.engine import CaseFunction
from physplan_bench.frechet.distance import fit, frechet_distance, size_warning
from physplan_bench.paper_tables import FRECHET_COLUMNS, reported_rows
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.tables import Row, Table, titled
from physplan_bench.videos import find_videos, read_video

Kind = Literal["frame", "clip"]


@dataclass(frozen=True, kw_only=True)
class FrechetConfig:
    """All of it changes the distance."""

    kind: Kind  # frame: FID, clip: FVD
    extractor: str
    seed: int = 0
    frames_per_video: int = 16  # for the FID, evenly spaced; 0 takes all


@dataclass(frozen=True, kw_only=True)
class Frechet:
    generated: Path
    real: Path
    config: FrechetConfig

    @property
    def name(self) -> str:
        return "fid" if self.config.kind == "frame" else "fvd"

    def cases(self) -> list[Case]:
        # the file's name draws the clip, so that a folder in another order gives the same clips
        return [
            Case(
                name=name,
                group=name.split()[0],
                identity={
                    "benchmark": "frechet 1",
                    "video": file_digest(path),
                    "file": path.name,
                    **asdict(self.config),
                },
            )
            for name, path in self._paths().items()
        ]

    def _paths(self) -> dict[str, Path]:
        sides = {"generated": self.generated, "real": self.real}
        return {
            f"{side} {i:05d}": path
            for side, folder in sides.items()
            for i, path in enumerate(find_videos(folder))
        }

    def setup(self) -> CaseFunction:
        from physplan_bench.frechet.extractors import load_extractor

        extractor = load_extractor(self.config.extractor, kind=self.config.kind)
        return partial(extract, extractor, self.config, self._paths())

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        store, cases = CaseStore(folder), self.cases()
        one, two = (
            fit(
                np.concatenate(
                    [np.load(store.directory(case) / "features.npy") for case in cases if case.group == side]
                )
            )
            for side in ("generated", "real")
        )
        warning = size_warning(one, two)
        return {
            "provenance": provenance(
                protocol=f"{self.name}, every video once",
                settings={**asdict(self.config), "reference": self.real.name},
                seeds=[self.config.seed],
            ),
            self.name: frechet_distance(one, two),
            "n_generated": one.count,
            "n_real": two.count,
            "dimension": len(one.mean),
            "warnings": [warning] if warning else [],
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        title = self.name.upper()
        cells = (result[self.name], result["n_generated"], result["n_real"], result["dimension"])
        about = f"Extractor {self.config.extractor}, reference {self.real.name}."
        return Table(
            title=title,
            columns=titled(title, "n generated", "n real", "d"),
            rows=(Row(label=label, cells=cells),),
            note=" ".join([about, *result["warnings"]]),
            reported=tuple(
                Row(label=f"{row.label}, {where}", cells=(value, None, None, None), source=row.source)
                for row in reported_rows("frechet")
                for column, value in zip(FRECHET_COLUMNS, row.cells, strict=True)
                for where, _, metric in [column.title.rpartition(" ")]
                if metric == title
            ),
        )


def extract(
    extractor: Any, config: FrechetConfig, paths: Mapping[str, Path], case: Case, directory: Path
) -> Mapping[str, Any]:
    path = paths[case.name]
    video = read_video(path)
    if config.kind == "clip":
        start = clip_start(len(video), extractor.frames, name=path.name, seed=config.seed)
        if start is None:
            raise PhysPlanError(f"{path} has {len(video)} frames; a clip needs {extractor.frames}.")
        features = extractor(video[None, start : start + extractor.frames])
    else:
        features = extractor(video[frame_indices(len(video), config.frames_per_video)])
    with atomic_path(directory / "features.npy") as temporary:
        np.save(temporary, np.asarray(features, np.float64))
    return {"samples": int(features.shape[0]), "dimension": int(features.shape[1])}


def clip_start(total: int, length: int, *, name: str, seed: int) -> int | None:
    """Where the one clip of a video begins: drawn from the seed and the video's name."""
    if total < length:
        return None
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    return int(rng.integers(total - length + 1))


def frame_indices(total: int, count: int) -> Sequence[int]:
    if count <= 0 or count >= total:
        return range(total)
    return [int(i) for i in np.linspace(0, total - 1, count).round()]
