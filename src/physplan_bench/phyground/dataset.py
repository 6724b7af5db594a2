"""A copy of PhyGround's data: prompts with first frames, and the published human ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.phyground.laws import LAWS

PICTURES = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """`video` is the stem of the video's and the first frame's file; `laws` are those that apply."""

    video: str
    text: str
    laws: tuple[str, ...]
    source: str = ""

    @property
    def from_physics_iq(self) -> bool:
        """Scenes that are Physics-IQ's: nothing fitted on them may be reported there."""
        return self.source.lower().replace("-", "_").startswith("physics_iq") or bool(
            re.match(r"\d{4}_perspective-\w+_trimmed-", self.video)
        )


@dataclass(frozen=True, kw_only=True)
class Rating:
    """One annotator's scores of one video of one model; laws that do not apply are left out."""

    annotator: str
    model: str
    video: str
    general: dict[str, float]
    laws: dict[str, float]


def read_prompts(path: Path) -> list[Prompt]:
    """`prompts/phyground.json` of a data folder, or the file itself."""
    file = path / "prompts" / "phyground.json" if path.is_dir() else path
    content = _read_json(file, "PhyGround's prompts")
    rows = content.get("prompts", content) if isinstance(content, dict) else content
    rows = list(rows.values()) if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not rows:
        raise PhysPlanError(f"{file} holds no list of prompts.")
    prompts, seen = [], set[str]()
    for number, row in enumerate(rows):
        prompt = _prompt(row, f"{file}, prompt {number}")
        if prompt.video in seen:
            raise PhysPlanError(f"{file} has the video {prompt.video!r} twice.")
        seen.add(prompt.video)
        prompts.append(prompt)
    return prompts


def _prompt(row: Any, where: str) -> Prompt:
    if not isinstance(row, dict):
        raise PhysPlanError(f"{where} is not an object.")
    text = row.get("prompt") or row.get("description")
    video = row.get("video") or row.get("id_stem") or Path(str(row.get("first_frame_image") or "")).stem
    laws = row.get("physical_laws")
    if not isinstance(text, str) or not text.strip() or not isinstance(video, str) or not video:
        raise PhysPlanError(f"{where} lacks a prompt or a video's name.")
    if not isinstance(laws, list) or any(not isinstance(law, str) for law in laws):
        raise PhysPlanError(f"{where} lacks its physical_laws.")
    if unknown := sorted(set(laws) - set(LAWS)):
        raise PhysPlanError(f"{where} names the law {unknown[0]!r}, which PhyGround does not have.")
    if "/" in video or "\\" in video or video.startswith("."):
        raise PhysPlanError(f"{where}: {video!r} is not the stem of a file.")
    source = str(row.get("dataset") or "")
    return Prompt(video=video, text=text.strip().strip('"'), laws=tuple(laws), source=source)


def find_first_frames(folder: Path, prompts: Sequence[Prompt]) -> dict[str, Path]:
    """The first frame of each prompt by its video's stem, in `first_images/` or the folder itself."""
    folder = next((f for f in (folder / "first_images", folder) if f.is_dir()), folder)
    found = {path.stem: path for path in sorted(folder.glob("*")) if path.suffix.lower() in PICTURES}
    if missing := [prompt.video for prompt in prompts if prompt.video not in found]:
        raise PhysPlanError(
            f"{folder} lacks {len(missing)} of {len(prompts)} first frames, such as that of {missing[0]}."
        )
    return {prompt.video: found[prompt.video] for prompt in prompts}


def read_ratings(folder: Path) -> list[Rating]:
    """All of `annotations/annotator_*.json`."""
    folder = next((f for f in (folder / "annotations", folder) if f.is_dir()), folder)
    files = sorted(folder.glob("annotator_*.json"))
    if not files:
        raise PhysPlanError(f"{folder} holds no annotator_*.json: give PhyGround's data folder.")
    ratings = []
    for file in files:
        content = _read_json(file, "human ratings")
        try:
            for row in content["annotations"]:
                absent = set(row.get("na_laws") or ())
                scores = row["scores"]
                ratings.append(
                    Rating(
                        annotator=str(content["annotator_id"]),
                        model=str(row["model"]),
                        video=str(row["video"]),
                        general={str(k): float(v) for k, v in scores["general"].items() if v is not None},
                        laws={
                            str(law): float(value)
                            for law, value in scores["physical"].items()
                            if value is not None and law not in absent
                        },
                    )
                )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PhysPlanError(f"{file} is not a file of human ratings ({error!r}).") from error
    return ratings


def _read_json(path: Path, what: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PhysPlanError(f"{path} cannot be read as {what} ({error}).") from error
