"""From the stage scores of each video to the PCA, exactly as the official script adds them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from physplan.errors import PhysPlanError

STAGES = ("single", "multi_gpt", "multi_llava", "video_gpt", "video_intern")
DOMAINS = ("Mechanics", "Optics", "Thermal", "Material")
SIZES = {"Mechanics": 40, "Optics": 50, "Thermal": 30, "Material": 40}
# main_category (its first word) -> domain
CATEGORIES = {
    "force": "Mechanics",
    "light": "Optics",
    "heat": "Thermal",
    "physical": "Material",
    "chemical": "Material",
}
MAX_SCORE = 3


@dataclass(frozen=True, kw_only=True)
class VideoScore:
    """The closed judges, the open ones, and the two together; 0 to 3."""

    closed: int
    open: int
    final: int


def combine(stages: Mapping[str, float]) -> VideoScore:
    """Each triple rounded half to even, then the floor of the mean of the two."""
    closed = round((stages["single"] + stages["multi_gpt"] + stages["video_gpt"]) / 3)
    open = round((stages["single"] + stages["multi_llava"] + stages["video_intern"]) / 3)
    return VideoScore(closed=closed, open=open, final=(closed + open) // 2)


def aggregate(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """PCA = mean(final) / 3, overall, per domain and per law."""
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise PhysPlanError("The scores must be a JSON list with one entry per video.")
    videos = [_read(entry, index) for index, entry in enumerate(entries)]
    finals = [combine(video) for video in videos]
    domains: dict[str, Any] = {}
    for domain in DOMAINS:
        members = [i for i, video in enumerate(videos) if video["domain"] == domain]
        if members:
            domains[domain] = _group(finals, members)
    laws: dict[str, list[int]] = {}
    for i, video in enumerate(videos):
        laws.setdefault(video["law"], []).append(i)
    counts = {domain: group["count"] for domain, group in domains.items()}
    return {
        **_group(finals, range(len(finals))),
        "domains": domains,
        "laws": {law: _group(finals, members) for law, members in sorted(laws.items())},
        "complete": counts == SIZES,
        "videos": [
            {"domain": v["domain"], "law": v["law"], "closed": f.closed, "open": f.open, "final": f.final}
            for v, f in zip(videos, finals, strict=True)
        ],
    }


def normalise_law(sub_category: str) -> str:
    """One spelling per law: the data writes `Atmosphere Pressure` beside `Atmospheric Pressure`."""
    law = " ".join(sub_category.replace("&", "and").split()).capitalize()
    return law.replace("Atmosphere pressure", "Atmospheric pressure")


def _group(finals: Sequence[VideoScore], members: Sequence[int]) -> dict[str, Any]:
    def mean(scores: list[int]) -> float:
        return sum(scores) / len(scores) / MAX_SCORE

    return {
        "count": len(members),
        "pca": mean([finals[i].final for i in members]),
        "pca_closed": mean([finals[i].closed for i in members]),
        "pca_open": mean([finals[i].open for i in members]),
    }


def _read(entry: Any, index: int) -> dict[str, Any]:
    where = f"Entry {index + 1} of the scores"
    if not isinstance(entry, Mapping):
        raise PhysPlanError(f"{where} is not an object with the stage scores.")
    missing = [name for name in ("main_category", "sub_category", *STAGES) if name not in entry]
    if missing:
        raise PhysPlanError(f"{where} lacks {', '.join(missing)}.")
    category = str(entry["main_category"])
    domain = CATEGORIES.get(category.split()[0].lower() if category.split() else "")
    if domain is None:
        raise PhysPlanError(f"{where} has the main_category {category!r}, which belongs to no domain.")
    for name in STAGES:
        value = entry[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SCORE:
            raise PhysPlanError(f"{where}: {name} is {value!r}, not a score from 0 to {MAX_SCORE}.")
    return {
        **{name: entry[name] for name in STAGES},
        "domain": domain,
        "law": normalise_law(str(entry["sub_category"])),
    }
