"""VideoPhy-2's AutoEval protocol with a judge behind a server: two questions per video, answered 1 to 5.

The 7B judge is trained on the benchmark's own wording: give its `template.py` with `--template`; the file is
read as text and never run. Without it the wording is ours, for judges of any kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from physplan.calls.gateway import Gateway
from physplan.calls.named import connect_named
from physplan.calls.protocol import ImagePart, Request
from physplan.errors import PhysPlanError
from physplan_bench import videophy2
from physplan_bench.asking import ask_score, encode_frames
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import file_digest
from physplan_bench.records import Record
from physplan_bench.tables import Table, read_rows
from physplan_bench.videophy2 import Scored
from physplan_bench.videos import read_video

SYSTEM = "You rate videos. Answer with one number from 1 to 5 and nothing else."
OURS = {
    "sa": "Do these frames of a video, in order of time, show what this sentence says: {caption}? 5: all of "
    "it, 1: nothing of it.",
    "pc": "Does what these frames of a video show, in order of time, obey the laws of physics? 5: in all, 1: "
    "it breaks them clearly.",
}
OFFICIAL = {"sa": "PROMPT_SA", "pc": "PROMPT_PHYSICS"}  # names in template.py


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """All of it changes the scores."""

    judge: str  # gemini:MODEL, openai:MODEL or server:MODEL@URL
    frames: int = 32  # the official number
    questions: Mapping[str, str] = field(default_factory=lambda: OURS)


def read_template(path: Path) -> dict[str, str]:
    """The two questions of the official `template.py`, without its markers of speakers and of the video."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = {
            target.id: ast.literal_eval(line.value)
            for line in tree.body
            if isinstance(line, ast.Assign)
            for target in line.targets
            if isinstance(target, ast.Name)
        }
        return {task: _question(found[name]) for task, name in OFFICIAL.items()}
    except (OSError, SyntaxError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PhysPlanError(f"{path} is no template file of VideoPhy-2 ({error!r}).") from error


def _question(template: str) -> str:
    """What the last human line says."""
    return template.rsplit("Human:", 1)[-1].rsplit("AI:", 1)[0].strip()


def read_videos(path: Path) -> dict[str, tuple[str, Path]]:
    """File name -> caption and file, from the CSV that the official inference reads (caption, videopath)."""
    found: dict[str, tuple[str, Path]] = {}
    for number, row in enumerate(read_rows(path, {"caption", "videopath"}), start=2):
        places = [Path(row["videopath"]), path.parent / row["videopath"]]
        video = next((place for place in places if place.is_file()), None)
        if video is None:
            raise PhysPlanError(f"{path}, row {number}: there is no video {row['videopath']}.")
        if video.name in found:
            raise PhysPlanError(f"{path}, row {number}: {video.name} is named twice.")
        found[video.name] = row["caption"], video
    return found


def read_score(text: str) -> int | None:
    """The first number from 1 to 5 that stands by itself, or its word."""
    words = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
    match = re.search(r"\b(?:[1-5]|one|two|three|four|five)\b", text.lower())
    return (words.get(match[0]) or int(match[0])) if match else None


def segment_frames(video: np.ndarray, count: int) -> list[np.ndarray]:
    """As the official code samples: one segment apart, from half a segment on; a short video repeats some."""
    segment = (len(video) - 1) / count
    return [video[int(segment / 2) + round(segment * i)] for i in range(count)]


class Judge:
    """A model behind the gateway, whose answers are stored, priced and budgeted."""

    def __init__(self, gateway: Gateway, model: str, questions: Mapping[str, str]) -> None:
        self._gateway, self._model, self._questions = gateway, model, questions

    @classmethod
    def connect(cls, config: JudgeConfig, calls: Path, budget: float | None) -> Self:
        """In the worker that asks it: keys do not travel."""
        return cls(*connect_named(config.judge, calls, budget=budget), config.questions)

    def rate(self, frames: Sequence[np.ndarray], caption: str) -> dict[str, int | None]:
        """`sa` and `pc`; frames are (H, W, 3) uint8."""
        images = encode_frames(frames)
        return {task: self._ask(task, caption, images) for task in OFFICIAL}

    def _ask(self, task: str, caption: str, images: tuple[ImagePart, ...]) -> int | None:
        request = Request(
            purpose=f"judge_{task}",
            model=self._model,
            system=SYSTEM,
            text=self._questions[task].replace("{caption}", caption),
            images=images,
            max_output_tokens=256,
        )
        return ask_score(self._gateway, request, read_score)


@dataclass(frozen=True, kw_only=True)
class VideoPhy2:
    """`make_judge` is called in the worker: keys do not travel."""

    videos: Mapping[str, tuple[str, Path]]  # file name -> caption and file
    config: JudgeConfig
    make_judge: Callable[[], Judge]
    label: str
    hard: Mapping[str, bool] | None = None
    name = "videophy2"

    def cases(self) -> list[Case]:
        return [
            Case(
                name=name,
                identity={
                    "benchmark": "videophy2 2",
                    "video": file_digest(path),
                    "caption": caption,
                    "judge": asdict(self.config),
                },
            )
            for name, (caption, path) in self.videos.items()
        ]

    def setup(self) -> CaseFunction:
        judge = self.make_judge()

        def rate(case: Case, directory: Path) -> Mapping[str, Any]:
            caption, path = self.videos[case.name]
            return judge.rate(segment_frames(read_video(path), self.config.frames), caption)

        return rate

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        result = videophy2.summarise(self._records(results), judge=self.config.judge)
        result["provenance"]["settings"] |= {"frames": self.config.frames, **self.config.questions}
        return result

    def _records(self, results: Results) -> list[Record]:
        scored = [
            Scored(
                name=name,
                caption=caption,
                sa=float(results[name]["sa"] or 0),
                pc=float(results[name]["pc"] or 0),
                path=str(path),
            )
            for name, (caption, path) in self.videos.items()
        ]
        return videophy2.joint_records(scored, self.hard, self.label)

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        return videophy2.table(result, label)
