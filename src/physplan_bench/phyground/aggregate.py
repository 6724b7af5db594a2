"""From scores per video to a model's row, as PhyGround's leaderboard computes it. Pure functions.

Overall = (mean of the general means + mean of the domain means, weighted by their number of scores) / 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from physplan_bench.phyground.dataset import Rating
from physplan_bench.phyground.laws import DOMAIN_OF, DOMAINS, GENERAL


@dataclass(frozen=True, kw_only=True)
class VideoScores:
    """Scores of one video, 1 to 5; None where a judge gave no usable answer."""

    video: str
    general: Mapping[str, float | None]
    laws: Mapping[str, float | None]

    @property
    def general_mean(self) -> float | None:
        return _mean(self.general.values())

    @property
    def laws_mean(self) -> float | None:
        return _mean(self.laws.values())

    @property
    def coverage(self) -> float:
        """The share of the video's laws that were scored."""
        scored = sum(value is not None for value in self.laws.values())
        return scored / len(self.laws) if self.laws else 0.0


def model_row(videos: Sequence[VideoScores]) -> dict[str, float | None]:
    """The leaderboard's columns: SA, PTV, persistence, the three domains and Overall, not rounded."""
    row: dict[str, float | None] = {
        name: _mean(video.general.get(name) for video in videos) for name in GENERAL
    }
    by_domain: dict[str, list[float]] = {domain: [] for domain in DOMAINS}
    for video in videos:
        for law, value in video.laws.items():
            if value is not None:
                by_domain[DOMAIN_OF[law]].append(value)
    row |= {domain: _mean(values) for domain, values in by_domain.items()}
    general = _mean(row[name] for name in GENERAL)
    physical = _mean([value for values in by_domain.values() for value in values])
    row["Overall"] = None if general is None or physical is None else (general + physical) / 2
    return row


def law_means(videos: Iterable[VideoScores]) -> dict[str, tuple[float, int]]:
    """Law -> mean score and number of videos."""
    found: dict[str, list[float]] = defaultdict(list)
    for video in videos:
        for law, value in video.laws.items():
            if value is not None:
                found[law].append(value)
    return {law: (float(np.mean(values)), len(values)) for law, values in sorted(found.items())}


def human_scores(ratings: Iterable[Rating]) -> dict[str, list[VideoScores]]:
    """Model -> its videos with the mean over annotators of every dimension."""
    groups: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for rating in ratings:
        groups[rating.model, rating.video].append(rating)
    models: dict[str, list[VideoScores]] = defaultdict(list)
    for (model, video), rated in sorted(groups.items()):
        models[model].append(
            VideoScores(
                video=video,
                general=_means([rating.general for rating in rated]),
                laws=_means([rating.laws for rating in rated]),
            )
        )
    return dict(models)


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _mean(row.get(name) for row in rows) for name in names}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
