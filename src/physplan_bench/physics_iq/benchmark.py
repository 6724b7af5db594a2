"""Physics-IQ end to end: one case per video, then the score overall, per category and per video."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.benchmark import Results
from physplan_bench.bootstrap import Interval, cluster_bootstrap
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.generation import read_record
from physplan_bench.paper_tables import PHYSICS_IQ_COLUMNS, reported_rows
from physplan_bench.physics_iq.dataset import CATEGORIES, SceneVideos, VideoSet
from physplan_bench.physics_iq.masks import iter_motion_masks, lossy_round_trip, read_masks, resize_masks
from physplan_bench.physics_iq.metrics import Comparison, Metrics, compare_frames, mean_metrics
from physplan_bench.physics_iq.score import (
    clipped,
    official_variance,
    physics_iq_score,
    variance_of_takes,
    verified_ratios,
    verified_score,
)
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.records import Record, records_of
from physplan_bench.tables import Row, Table
from physplan_bench.videos import probe, read_frames

Protocol = Literal["original", "verified"]
ChosenWith = Literal["none", "original", "verified"]
Pair = tuple[Metrics, Metrics]  # the model against take 1, and take 2 against take 1


@dataclass(frozen=True, kw_only=True)
class PhysicsIQConfig:
    """All of it changes the numbers. The defaults give the official one."""

    protocol: Protocol = "original"
    lossy_masks: bool = True  # masks through mp4v, as the official code stores them
    official_rounding: bool = True  # four decimals per frame, and the rounded variance
    downscale: int = 4
    chosen_with: ChosenWith = "none"  # the data that settings were chosen with

    @property
    def comparable(self) -> bool:
        """With the figures that the paper reports."""
        return replace(self, chosen_with="none") == PhysicsIQConfig()


@dataclass(frozen=True, kw_only=True)
class PhysicsIQ:
    videos: VideoSet
    config: PhysicsIQConfig = field(default_factory=PhysicsIQConfig)
    name = "physics-iq"

    def cases(self) -> list[Case]:
        return [make_case(videos, self.videos, self.config) for videos in self.videos.scenes]

    def setup(self) -> CaseFunction:
        by_id = {videos.scene.id: videos for videos in self.videos.scenes}
        return partial(measure, by_id, self.videos, self.config)

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        scenes = self.videos.scenes
        pairs = [read_pair(results[videos.scene.id], self.config) for videos in scenes]
        made = read_record(scenes[0].generated.parent)
        score = score_videos(scenes, pairs, self.config, fps=self.videos.fps)
        warnings = data_warnings(self.config, shipped_masks=self.videos.shipped_masks)
        samples = {videos.scene.id: dict(results[videos.scene.id]) for videos in scenes}
        return {
            **score,
            "shipped_masks": self.videos.shipped_masks,
            "warnings": warnings,
            "generation": made,
            "samples": samples,
        }

    def records(self, result: Mapping[str, Any], label: str, folder: Path) -> list[Record]:
        """With the videos, and what the runs that made them left beside these."""
        from physplan_bench.run_records import add_run

        by_id = {videos.scene.id: videos for videos in self.videos.scenes}
        return [
            add_run(
                replace(
                    record,
                    prompt=by_id[record.scene].scene.description,
                    video=str(by_id[record.scene].generated),
                ),
                by_id[record.scene].generated.parent,
            )
            for record in records_of(result, label)
        ]

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        found = result["categories"]
        cells = [found[name]["score"] if name in found else None for name in CATEGORIES]
        interval = Interval(**{**result["interval"], "value": result["score"]})
        return Table(
            title="Physics-IQ",
            columns=PHYSICS_IQ_COLUMNS,
            rows=(Row(label=label, cells=(*cells, interval)),),
            note="Average over all videos, with its 95 % bootstrap interval over scenarios.",
            unit="Physics-IQ score",
            reported=reported_rows("physics-iq") if self.config.comparable else (),
        )


def data_warnings(config: PhysicsIQConfig, *, shipped_masks: bool) -> list[str]:
    """Where the number is not what its protocol's name promises."""
    warnings = []
    if config.protocol == "verified" and not shipped_masks:
        warnings.append(
            "Verified's formula on data without its shipped masks (video-masks/real): this is not a "
            "Physics-IQ Verified score. Give the Verified data set as --real."
        )
    if config.chosen_with not in ("none", config.protocol):
        warnings.append(
            f"The settings were chosen with the {config.chosen_with} data and are scored on "
            f"{config.protocol}: the leaderboard's rules allow no signal of one to improve the other."
        )
    return warnings


def make_case(videos: SceneVideos, video_set: VideoSet, config: PhysicsIQConfig) -> Case:
    """The protocol is not part of it: both are computed from the same metrics."""
    return Case(
        name=videos.scene.id,
        identity={
            "benchmark": "physics-iq metrics 2",
            "generated": file_digest(videos.generated),
            "take_1": file_digest(videos.take_1),
            "take_2": file_digest(videos.take_2),
            "masks": [file_digest(path) for path in videos.masks or ()],
            "frames": video_set.frames,
            "lossy_masks": config.lossy_masks,
            "downscale": config.downscale,
        },
    )


def measure(
    videos: Mapping[str, SceneVideos],
    video_set: VideoSet,
    config: PhysicsIQConfig,
    case: Case,
    directory: Path,
) -> Mapping[str, Any]:
    files = videos[case.name]
    info = probe(files.take_1)
    size = (max(info.width // config.downscale, 1), max(info.height // config.downscale, 1))
    load = partial(load_pair, size=size, video_set=video_set, lossy=config.lossy_masks)
    masks = files.masks or (None, None)
    take_1, take_2 = load(files.take_1, masks=masks[0]), load(files.take_2, masks=masks[1])
    made = load(files.generated)
    return {
        "metrics": asdict(compare_frames(*take_1, *made)),
        "metrics_of_take_2": asdict(compare_frames(*take_2, *made)),
        "variance": asdict(compare_frames(*take_1, *take_2)),
    }


def load_pair(
    path: Path, *, size: tuple[int, int], video_set: VideoSet, lossy: bool, masks: Path | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Frames and motion masks at `size`; masks are made at the video's own resolution, or read."""
    import cv2

    frames: list[np.ndarray] = []

    def reading() -> Any:
        for frame in islice(read_frames(path), video_set.frames):
            frames.append(cv2.resize(frame, size))
            yield frame

    native = iter_motion_masks(reading())
    if masks is None:
        found = resize_masks(lossy_round_trip(native, fps=video_set.fps) if lossy else native, size)
    else:
        deque(native, maxlen=0)  # reads the frames
        found = resize_masks(read_masks(masks, frames=video_set.frames), size)
    if len(frames) < video_set.frames or len(found) != len(frames):
        raise PhysPlanError(
            f"{path} has only {min(len(frames), len(found))} frames or masks; {video_set.frames} are needed "
            f"(5 s at {video_set.fps:g} FPS)."
        )
    return np.stack(frames), found


def read_pair(result: Mapping[str, Any], config: PhysicsIQConfig) -> Pair:
    read = [Comparison(**result[name]) for name in ("metrics", "variance")]
    metrics, variance = (one.metrics(official_rounding=config.official_rounding) for one in read)
    return metrics, variance


def score_videos(
    videos: Sequence[SceneVideos], pairs: Sequence[Pair], config: PhysicsIQConfig, *, fps: float
) -> dict[str, Any]:
    variance = mean_metrics([pair[1] for pair in pairs])
    if config.official_rounding:
        variance = official_variance(variance)
    scores = [score_video(pair, variance, config.protocol) for pair in pairs]
    categories = {
        category: _group([i for i, v in enumerate(videos) if v.scene.category == category], scores, pairs)
        for category in CATEGORIES
        if any(v.scene.category == category for v in videos)
    }
    interval = score_interval(pairs, [v.scene.scenario for v in videos], config)
    return {
        "provenance": provenance(
            protocol=f"physics-iq {config.protocol}", settings={**asdict(config), "fps": fps}, seeds=[0]
        ),
        **_group(range(len(pairs)), scores, pairs),
        "interval": asdict(interval),
        "variance": asdict(variance),
        "variance_of_takes": variance_of_takes([pair[1] for pair in pairs]),
        "categories": categories,
        "videos": {
            v.scene.id: {
                "scenario": v.scene.scenario,
                "view": v.scene.view,
                "category": v.scene.category,
                "score": scores[i],  # not clipped: these average to the score before its clipping
                "metrics": asdict(pairs[i][0]),
                "variance": asdict(pairs[i][1]),
            }
            for i, v in enumerate(videos)
        },
    }


def score_video(pair: Pair, variance: Metrics, protocol: Protocol) -> float:
    """Against the global variance, or, in the Verified protocol, against the video's own."""
    return verified_score(*pair) if protocol == "verified" else physics_iq_score(pair[0], variance)


def score_interval(pairs: Sequence[Pair], clusters: Sequence[str], config: PhysicsIQConfig) -> Interval:
    """95 % over scenarios: the three views of one scenario stay together."""
    if config.protocol == "verified":
        return cluster_bootstrap(np.array([verified_score(*pair) for pair in pairs]), clusters)
    rows = np.array([(*astuple(metrics), *astuple(variance)) for metrics, variance in pairs])

    def statistic(sample: np.ndarray) -> float:
        mean = sample.mean(axis=0)
        return physics_iq_score(_metrics(mean[:4]), _metrics(mean[4:]))

    return cluster_bootstrap(rows, clusters, statistic=statistic)


def _metrics(row: np.ndarray) -> Metrics:
    return Metrics(
        spatiotemporal=float(row[0]), spatial=float(row[1]), weighted_spatial=float(row[2]), mse=float(row[3])
    )


def _group(indices: Sequence[int], scores: Sequence[float], pairs: Sequence[Pair]) -> dict[str, Any]:
    mean = float(np.mean([scores[i] for i in indices]))
    return {
        "count": len(indices),
        "score": clipped(mean),
        "unclipped_score": mean,
        "metrics": asdict(mean_metrics([pairs[i][0] for i in indices])),
        "verified": asdict(mean_metrics([verified_ratios(*pairs[i]) for i in indices])),
    }
