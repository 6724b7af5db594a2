"""Two raters, by themselves, say of each failed video which stage went wrong first; then they discuss.

The same application as the user study: its server, its page's style, its database. rating.json is the folder.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import plain
from physplan_bench.failures import STAGES
from physplan_bench.failures.agreement import agreement, resolve
from physplan_bench.failures.page import MEANINGS, FailedVideo
from physplan_bench.new_folder import new_folder
from physplan_bench.study.design import FRAMES, VIDEOS, read_design
from physplan_bench.study.media import copy_video
from physplan_bench.study.store import Database
from physplan_studio.web.server import Refused

FILE, VERSION = "rating.json", 1
RATERS, TOGETHER = ("1", "2"), "together"
MAX_NOTE = 2000  # letters


@dataclass(frozen=True, kw_only=True)
class Rated:
    """All that a rater sees of one video; files relative to the folder."""

    name: str
    category: str
    score: float
    description: str
    video: str | None
    truth: str | None
    events: tuple[str, ...]
    keyframes: tuple[str, ...]
    guess: str


@dataclass(frozen=True, kw_only=True)
class Rating:
    id: str
    title: str
    videos: tuple[Rated, ...]

    def files(self) -> list[str]:
        return [name for one in self.videos for name in (one.video, one.truth, *one.keyframes) if name]


def make_rating(
    videos: Sequence[FailedVideo], output: Path, *, title: str, show_guesses: bool = False
) -> Rating:
    """Whole or not at all. Guesses are hidden unless asked for: who sees one is no longer independent."""
    if not videos:
        raise PhysPlanError("There is no failed video to attribute.")
    with new_folder(output) as folder:
        for part in (VIDEOS, FRAMES):
            (folder / part).mkdir()
        rated = tuple(_rated(one, number, folder, show_guesses) for number, one in enumerate(videos, 1))
        rating = Rating(id=secrets.token_hex(8), title=plain(title), videos=rated)
        write_json(folder / FILE, {"physplan_rating": VERSION, **asdict(rating)})
    return rating


def _rated(one: FailedVideo, number: int, folder: Path, show_guess: bool) -> Rated:
    keyframes = tuple(f"{FRAMES}/{number}-{i}.png" for i in range(1, len(one.keyframes) + 1))
    for source, name in zip(one.keyframes, keyframes, strict=True):
        shutil.copyfile(source, folder / name)
    return Rated(
        name=plain(one.name),
        category=plain(one.category),
        score=one.score,
        description=plain(one.description),
        video=_copied(one.video, folder, f"{VIDEOS}/{number}.mp4"),
        truth=_copied(one.truth, folder, f"{VIDEOS}/{number}-real.mp4"),
        events=tuple(plain(text) for text in one.events),
        keyframes=keyframes,
        guess=plain(f"{one.guess.stage} ({one.guess.reason})") if show_guess and one.guess else "",
    )


def _copied(source: Path | None, folder: Path, name: str) -> str | None:
    if source is None:
        return None
    copy_video(source, folder / name)
    return name


def is_rating(folder: Path) -> bool:
    return (folder / FILE).is_file()


def load_rating(folder: Path) -> Rating:
    return read_design(folder, FILE, Rating, ("rating", VERSION))


class RatingStore(Database):
    schema = """
    CREATE TABLE IF NOT EXISTS ratings (
      rater TEXT NOT NULL, video TEXT NOT NULL, stage TEXT NOT NULL, note TEXT NOT NULL, at REAL NOT NULL,
      PRIMARY KEY (rater, video)
    ) STRICT;
    """

    def rate(self, rater: str, video: str, stage: str, note: str) -> None:
        """The last word counts: a rater may change their mind."""
        row = (rater, video, stage, note, self._clock())
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?)", row)

    def of(self, rater: str) -> dict[str, dict[str, str]]:
        query = "SELECT video, stage, note FROM ratings WHERE rater = ?"
        with self._lock:
            rows = self._database.execute(query, (rater,)).fetchall()
        return {video: {"stage": stage, "note": note} for video, stage, note in rows}


class RatingSession:
    """What the raters' page may ask for. No rater sees the other's ratings before both are done."""

    def __init__(self, rating: Rating, store: RatingStore) -> None:
        self.rating, self._store = rating, store
        self._names = [video.name for video in rating.videos]

    def answer(self, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
        actions = {"about": self.about, "state": self.state, "rate": self.rate}
        if what not in actions:
            raise Refused("There is no such request.")
        return actions[what](given)

    def about(self, given: Mapping[str, Any]) -> dict[str, Any]:
        stages = [{"name": stage, "meaning": MEANINGS[stage]} for stage in STAGES]
        videos = [asdict(video) for video in self.rating.videos]
        return {"id": self.rating.id, "title": self.rating.title, "stages": stages, "videos": videos}

    def state(self, given: Mapping[str, Any]) -> dict[str, Any]:
        rater = self._rater(given)
        progress = {one: len(self._store.of(one)) for one in RATERS}
        return {"ratings": self._store.of(rater), "progress": progress, "compared": self._compared()}

    def rate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        rater, video, stage = self._rater(given), given.get("video"), given.get("stage")
        note = given.get("note", "")
        if video not in self._names or stage not in STAGES:
            raise Refused("A rating names a video and a stage.")
        if not isinstance(note, str) or len(note) > MAX_NOTE:
            raise Refused(f"A note has at most {MAX_NOTE} letters.")
        compared = self._compared()
        if rater == TOGETHER and (compared is None or video not in compared["differ"]):
            raise Refused("Only what the two raters judged differently is discussed.")
        if rater != TOGETHER and compared is not None:
            raise Refused("Both raters are done: discuss what differs instead.")
        self._store.rate(rater, video, stage, plain(note, lines=True))
        return self.state(given)

    def _rater(self, given: Mapping[str, Any]) -> str:
        rater = given.get("rater")
        if rater not in (*RATERS, TOGETHER):
            raise Refused("A request names its rater.")
        return str(rater)

    def _compared(self) -> dict[str, Any] | None:
        """How far both agree, once both have rated everything."""
        first, second = (self._stages(one) for one in RATERS)
        if not len(first) == len(second) == len(self._names):
            return None
        found = agreement(first, second)
        differ = {name: [first[name], second[name]] for name in found.disagreements}
        _, left = resolve(first, second, self._stages(TOGETHER))
        return {"share": found.share, "kappa": found.kappa, "differ": differ, "left": left}

    def _stages(self, rater: str) -> dict[str, str]:
        return {name: entry["stage"] for name, entry in self._store.of(rater).items()}
