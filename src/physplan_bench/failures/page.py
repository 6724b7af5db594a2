"""The page on which a person attributes failed videos: one HTML file, no network, ratings saved as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan.foreign import read_file
from physplan_bench.failures import STAGES
from physplan_bench.failures.guess import Guess

MEANINGS = {
    "Reasoning": "the deltas are physically wrong or incomplete",
    "Edits": "the edits were rejected, or do not say what the delta says",
    "Keyframe": "the editor did not draw an edit, or changed what no edit names",
    "Localization": "masks, occupancy or depth are wrong",
    "Guidance": "plan and keyframes are right, but the video does not follow them",
}
MAX_EMBEDDED = 500_000_000  # bytes of one video in the page


@dataclass(frozen=True, kw_only=True)
class FailedVideo:
    """All that a rater sees of one video."""

    name: str
    category: str
    score: float
    description: str = ""
    video: Path | None = None
    truth: Path | None = None
    events: Sequence[str] = ()
    keyframes: Sequence[Path] = ()
    guess: Guess | None = None


def write_page(videos: Sequence[FailedVideo], path: Path, *, title: str, show_guesses: bool = False) -> None:
    """Guesses are hidden unless asked for: a rater who sees one is no longer independent."""
    if not videos:
        raise PhysPlanError("There is no failed video to attribute.")
    data = {
        "title": title,
        "stages": [{"name": stage, "meaning": MEANINGS[stage]} for stage in STAGES],
        "videos": [_entry(video, show_guesses) for video in videos],
    }
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    # A "</script>" or "<!--" inside a string would end the script element.
    embedded = json.dumps(data).replace("<", "\\u003c")
    head, script, rest = re.split(r"<script>|</script>", template.replace('"@DATA@"', embedded))
    own = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    write_atomic(path, f"{head.replace('@SCRIPT@', own)}<script>{script}</script>{rest}")


def _entry(video: FailedVideo, show_guess: bool) -> dict[str, object]:
    return {
        "name": video.name,
        "category": video.category,
        "score": round(video.score, 1),
        "description": video.description,
        "video": embed(video.video) if video.video else None,
        "truth": embed(video.truth) if video.truth else None,
        "events": list(video.events),
        "keyframes": [embed(path) for path in video.keyframes],
        "guess": asdict(video.guess) if show_guess and video.guess else None,
    }


def embed(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    try:
        content = read_file(path, limit=MAX_EMBEDDED)
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be read ({error.strerror}): put the file itself there.") from None
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
