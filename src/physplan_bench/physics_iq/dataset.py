"""A user's copy of Physics-IQ, checked before anything is measured: one sentence per fault."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan_bench.tables import read_rows
from physplan_bench.videos import VideoInfo, probe

COUNT = 198
CLIP_SECONDS = 5.0
CATEGORIES = ("Solid Mechanics", "Fluid Dynamics", "Optics", "Magnetism", "Thermodynamics")
COLUMNS = ("scenario", "description", "category", "generated_video_name")
PICTURES = (".jpg", ".jpeg", ".png")
MOST_FAULTS = 8  # more than this says no more


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One of the 198 tests: a scenario seen from one side, with its two real takes."""

    id: str
    scenario: str
    view: str
    category: str
    description: str
    generated_name: str


@dataclass(frozen=True, kw_only=True)
class SceneVideos:
    scene: Scene
    generated: Path
    take_1: Path
    take_2: Path
    masks: tuple[Path, Path] | None = None  # shipped motion masks of the two takes, as mp4


@dataclass(frozen=True, kw_only=True)
class VideoSet:
    """All that the score needs: 198 generated videos with their real takes, at one frame rate."""

    scenes: tuple[SceneVideos, ...]
    fps: float

    @property
    def shipped_masks(self) -> bool:
        """Whether the real videos' masks come with the data, as Verified's do."""
        return all(videos.masks for videos in self.scenes)

    @property
    def frames(self) -> int:
        return round(CLIP_SECONDS * self.fps)


def load_videos(generated: Path, real: Path, descriptions: Path | list[Scene]) -> VideoSet:
    """Everything the score needs, or an error that lists what is wrong with it."""
    scenes = read_descriptions(descriptions) if isinstance(descriptions, Path) else descriptions
    generated_files, fps = check_generated(generated)
    takes = find_takes(_real_folder(real, fps), scenes, fps)
    masks = find_masks(real, scenes, fps)
    return VideoSet(
        fps=fps,
        scenes=tuple(
            SceneVideos(
                scene=scene,
                generated=generated_files[scene.id],
                take_1=takes[scene.id][0],
                take_2=takes[scene.id][1],
                masks=masks.get(scene.id),
            )
            for scene in scenes
        ),
    )


def read_descriptions(path: Path) -> list[Scene]:
    """The 198 take-1 rows of descriptions.csv, in order of their ids."""
    rows = read_rows(path, COLUMNS, "descriptions.csv")
    faults, scenes = [], []
    for number, row in enumerate(rows, start=2):
        match = re.fullmatch(r"(\d{4})_(perspective-\w+)_take-([12])_(.+?)(\.mp4)?", row["scenario"] or "")
        if not match:
            faults.append(
                f"{path}, row {number}: {row['scenario']!r} is not <id>_<perspective>_take-<n>_<name>.mp4."
            )
        elif row["category"] not in CATEGORIES:
            faults.append(f"{path}, row {number}: there is no category {row['category']!r}.")
        elif match[3] == "1":
            scenes.append(
                Scene(
                    id=match[1],
                    scenario=match[4],
                    view=match[2],
                    category=row["category"],
                    description=row["description"] or "",
                    generated_name=row["generated_video_name"] or "",
                )
            )
    _refuse(faults)
    _refuse(_id_faults([scene.id for scene in scenes], f"{path} (rows of take 1)", "rows"))
    return sorted(scenes, key=lambda scene: scene.id)


def check_generation_rows(path: Path, scenes: list[Scene]) -> None:
    """What only generation needs of descriptions.csv: a sentence, and a file name that the score finds."""
    _refuse(
        [
            f"{path}: the description of {scene.id} is empty."
            for scene in scenes
            if not scene.description.strip()
        ]
        + [
            f"{path}: the video of {scene.id} is called {scene.generated_name!r}, not {scene.id}_*.mp4."
            for scene in scenes
            if not re.fullmatch(rf"{scene.id}_[^/\\]*\.mp4", scene.generated_name)
        ]
    )


def find_switch_frames(folder: Path, scenes: list[Scene]) -> dict[str, Path]:
    """The first frame of each scene: the benchmark's switch frame, by its id."""
    folder = next((f for f in (folder / "switch-frames", folder) if f.is_dir()), folder)
    pictures: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*")):
        if path.suffix.lower() in PICTURES:
            pictures.setdefault(path.name[:4], []).append(path)
    found = {scene.id: pictures.get(scene.id, []) for scene in scenes}
    _refuse(
        [f"{folder} lacks the switch frame of {i}." for i, paths in found.items() if not paths]
        + [
            f"{folder} has {len(paths)} switch frames of {i}, {paths[0].name} and {paths[1].name}: keep one."
            for i, paths in found.items()
            if len(paths) > 1
        ]
    )
    return {i: paths[0] for i, paths in found.items()}


def check_generated(folder: Path) -> tuple[dict[str, Path], float]:
    """Exactly 198 readable mp4 files, ids 0001_ to 0198_, one frame rate, 5 s each (within 1 ms)."""
    if not folder.is_dir():
        raise PhysPlanError(f"There is no folder {folder} with generated videos.")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".mp4")
    wrong = [path.name for path in paths if not re.match(r"\d{4}_", path.name)]
    _refuse(
        [
            f"{folder / name} has no id in front of its name: call it {'0001_'} to {COUNT:04d}_ and anything."
            for name in wrong
        ]
    )
    _refuse(_id_faults([path.name[:4] for path in paths], str(folder), "videos (.mp4)"))
    infos = {path: probe(path) for path in paths}
    faults = _fps_faults(infos) + [
        f"{path} lasts {info.seconds:.3f} s, not {CLIP_SECONDS:g} s: keep exactly the first {CLIP_SECONDS:g}."
        for path, info in infos.items()
        if not math.isclose(info.seconds, CLIP_SECONDS, abs_tol=0.001)
    ]
    _refuse(faults)
    return {path.name[:4]: path for path in paths}, next(iter(infos.values())).fps


def find_takes(folder: Path, scenes: list[Scene], fps: float) -> dict[str, tuple[Path, Path]]:
    """For each scene its two real takes, found by perspective, take and scenario in the file names."""
    takes = _pairs(folder, scenes, "take")
    faults = []
    for path in (path for pair in takes.values() for path in pair):
        info = probe(path)
        if abs(info.fps - fps) > 0.01:
            faults.append(
                f"{path} has {info.fps:g} frames a second, the generated videos have {fps:g}: give the "
                f"benchmark's folder for {fps:g} FPS."
            )
        elif info.seconds < CLIP_SECONDS - 0.001:
            faults.append(
                f"{path} lasts only {info.seconds:.3f} s: fetch the benchmark's testing videos again."
            )
    _refuse(faults)
    return takes


def find_masks(real: Path, scenes: list[Scene], fps: float) -> dict[str, tuple[Path, Path]]:
    """The shipped masks of both takes by scene id, where the data has a folder of them; else nothing.

    The official runner takes such a folder as it finds it and computes masks only where there is none.
    """
    folder = real / "video-masks" / "real" / f"{fps:g}FPS"
    return _pairs(folder, scenes, "the mask of take") if folder.is_dir() else {}


def _pairs(folder: Path, scenes: list[Scene], what: str) -> dict[str, tuple[Path, Path]]:
    by_key: dict[tuple[str, str, str], Path] = {}
    for path in sorted(folder.glob("*.mp4")):
        if match := re.search(r"(perspective-\w+?)_take-([12])_(.+)$", path.stem):
            by_key[match[1], match[2], match[3]] = path
    faults, found = [], {}
    for scene in scenes:
        pair = [by_key.get((scene.view, take, scene.scenario)) for take in ("1", "2")]
        missing = [take for take, path in zip((1, 2), pair, strict=True) if path is None]
        faults += [
            f"{folder} lacks {what} {take} of {scene.id} ({scene.scenario}, {scene.view})."
            for take in missing
        ]
        if pair[0] and pair[1]:
            found[scene.id] = (pair[0], pair[1])
    _refuse(faults)
    return found


def _real_folder(real: Path, fps: float) -> Path:
    """The folder itself, or the one for this frame rate below the root of the benchmark."""
    if not real.is_dir():
        raise PhysPlanError(f"There is no folder {real} with real videos.")
    name = f"{fps:g}FPS"
    inside = (name, f"split-videos/testing-videos/{name}", f"split-videos/testing/{name}")
    return next((real / part for part in inside if (real / part).is_dir()), real)


def _id_faults(ids: list[str], where: str, what: str) -> list[str]:
    expected = {f"{i:04d}" for i in range(1, COUNT + 1)}
    counts = Counter(ids)
    faults = []
    if len(ids) != COUNT:
        absent = sorted(expected - set(ids))
        missing = f"; missing: {', '.join(absent[:5])}{' ...' if len(absent) > 5 else ''}" if absent else ""
        faults.append(f"{where} holds {len(ids)} {what}, not {COUNT}{missing}.")
    faults += [
        f"{where} has the id {i}, which is not 0001 to {COUNT:04d}." for i in sorted(set(ids) - expected)
    ]
    faults += [f"{where} has the id {i} {n} times." for i, n in sorted(counts.items()) if n > 1]
    return faults


def _fps_faults(infos: dict[Path, VideoInfo]) -> list[str]:
    usual = Counter(info.fps for info in infos.values()).most_common(1)[0][0]
    return [
        f"{path} has {info.fps:g} frames a second, the others have {usual:g}: all must have one frame rate."
        for path, info in infos.items()
        if info.fps != usual
    ]


def _refuse(faults: list[str]) -> None:
    if faults:
        more = len(faults) - MOST_FAULTS
        shown = faults[:MOST_FAULTS] + ([f"And {more} more faults like these."] if more > 0 else [])
        raise PhysPlanError("\n".join(shown))
