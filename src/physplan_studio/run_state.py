"""One run as its page shows it, sent again only where it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from physplan.runs import layout
from physplan_studio.jobs import Job
from physplan_studio.pictures import PictureStore
from physplan_studio.run_index import RunIndex

MOST_RELATED = 24
WATCHED = (layout.RUN, layout.RECORDS, layout.VIDEO, layout.REPORT, layout.VERDICT, layout.FAILURE)


def run_state(index: RunIndex, pictures: PictureStore, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the page's `seen` and `related` do not show yet: the details of the run, and its related runs."""
    folder = index.folder(name)
    seen = _stamp(folder)
    if not (folder / layout.FRAME).exists():  # it has only begun
        seen = ""
    answer: dict[str, Any] = {"seen": seen, "preview": _version(folder / layout.PREVIEW)}
    if seen and given.get("seen") != seen:
        answer["details"] = _details(index, pictures, name, folder)
    related = _related(index, name)
    now = f"{len(related)}-{max((card['changed'] for card in related), default=0)}"
    if (seen and given.get("seen") != seen) or given.get("related") != now:
        answer |= {"related": related, "related_seen": now}
    return answer


def card_of_job(job: Job) -> dict[str, Any]:
    """A card of a run that has no folder yet."""
    spec = job.spec
    return {
        "run": job.run,
        "prompt": spec.prompt,
        "method": spec.method,
        "seed": spec.seed,
        "preset": spec.preset,
        "picture": spec.picture,
        "changed": 0,
        "seconds": 0,
        "stages": {},
        "steps": None,
        "finished": False,
        "verdict": "",
        "failure": "",
        "files": {},
    }


def _details(index: RunIndex, pictures: PictureStore, name: str, folder: Path) -> dict[str, Any]:
    details = index.details(name)
    details["picture"] = pictures.put(layout.load_picture(folder, layout.INPUT))
    details["frame"] = layout.load_picture(folder, layout.FRAME).size
    for one in details["keyframes"]:
        one["picture"] = pictures.put(layout.load_picture(folder, layout.keyframe(one["event"])))
    return details


def _related(index: RunIndex, name: str) -> list[dict[str, Any]]:
    """Other runs of the same picture and words that have a video."""
    cards = index.cards()
    own = next((card for card in cards if card["run"] == name), None)
    if own is None:
        return []
    same = (own["picture"], own["prompt"])
    return [
        card
        for card in cards
        if card["finished"] and card["run"] != name and (card["picture"], card["prompt"]) == same
    ][:MOST_RELATED]


def _stamp(folder: Path) -> str:
    return "-".join(str(_version(folder / name)) for name in WATCHED)


def _version(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
    except OSError:
        return 0
