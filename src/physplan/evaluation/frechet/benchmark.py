"""FID and FVD of two folders of videos: every video once, one case per video, clips drawn by seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from physplan.errors import PhysPlanError
from physplan.evaluation.cases import Case, CaseStore
from physplan.evaluation.engine import CaseFunction, EngineConfig, Progress, run_cases
from physplan.evaluation.frechet.distance import fit, frechet_distance, size_warning
from physplan.evaluation.provenance import file_digest, provenance
from physplan.evaluation.vbench.benchmark import find_videos
from physplan.evaluation.videos import read_video
from physplan.files import atomic_path

Kind = Literal["frame", "clip"]


@dataclass(frozen=True, kw_only=True)
class FrechetConfig:
    """All of it changes the distance."""

    kind: Kind  # frame: FID, clip: FVD
    extractor: str
    seed: int = 0
    frames_per_video: int = 16  # for the FID, evenly spaced; 0 takes all


def evaluate(
    generated: Path,
    real: Path,
    folder: Path,
    *,
    config: FrechetConfig,
    engine: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    sides = {"generated": find_videos(generated), "real": find_videos(real)}
    cases, paths = [], {}
    for side, videos in sides.items():
        for i, path in enumerate(videos):
            case = Case(
                name=f"{side} {i:05d}",
                # the name draws the clip, so that a folder in another order gives the same clips
                identity={
                    "benchmark": "frechet 1",
                    "video": file_digest(path),
                    "file": path.name,
                    **asdict(config),
                },
            )
            cases.append(case)
            paths[case.name] = path
    report = run_cases(cases, partial(make_extract, config, paths), folder, config=engine, progress=progress)
    report.require_complete()
    if len(report.results) < len(cases):
        return {"benchmark": config.kind, "partial": True, "measured": len(report.results), "of": len(cases)}
    store = CaseStore(folder)
    features = {
        side: np.concatenate(
            [np.load(store.directory(case) / "features.npy") for case in cases if case.name.startswith(side)]
        )
        for side in sides
    }
    return summarise(features["generated"], features["real"], config, reference=real.name)


def make_extract(config: FrechetConfig, paths: Mapping[str, Path]) -> CaseFunction:
    from physplan.evaluation.frechet.extractors import load_extractor

    extractor = load_extractor(config.extractor, kind=config.kind)

    def extract(case: Case, directory: Path) -> Mapping[str, Any]:
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

    return extract


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


def summarise(
    generated: np.ndarray, real: np.ndarray, config: FrechetConfig, *, reference: str
) -> dict[str, Any]:
    one, two = fit(generated), fit(real)
    warning = size_warning(one, two)
    name = "fid" if config.kind == "frame" else "fvd"
    return {
        "benchmark": name,
        "provenance": provenance(
            protocol=f"{name}, every video once",
            settings={**asdict(config), "reference": reference},
            seeds=[config.seed],
        ),
        name: frechet_distance(one, two),
        "n_generated": one.count,
        "n_real": two.count,
        "dimension": len(one.mean),
        "warnings": [warning] if warning else [],
    }
