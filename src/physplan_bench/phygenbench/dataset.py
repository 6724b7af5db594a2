"""A user's copy of PhyGenBench's questions. Nothing of it is shipped: the repository has no licence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.phygenbench.stages import MIDDLE_FRAME

FILES = ("prompts", "single_question", "multi_question", "explicit_prompts", "video_question")


@dataclass(frozen=True, kw_only=True)
class Question:
    """One key phenomenon: which frame to look for, what it should show, and what not."""

    retrieval: str
    statement: str
    antonym: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One prompt with all its questions. `number` counts from 1: the video is output_video_<number>.mp4."""

    number: int
    caption: str
    law: str
    sub_category: str
    main_category: str
    phenomena: tuple[Question, ...]
    middle: str  # retrieval prompt of the middle frame
    order: tuple[str, str, str]
    open_order: tuple[str, str, str]  # what the open judge is asked; differs with `official_quirks` only
    choices: tuple[str, str, str, str]  # from fantastical to realistic

    @property
    def key(self) -> str:
        return f"{self.number:03d}"

    def video(self, folder: Path) -> Path:
        return folder / f"output_video_{self.number}.mp4"


def load_entries(folder: Path, *, official_quirks: bool = False) -> list[Entry]:
    """All entries, in order, from the five question files."""
    data = {name: _read(folder / f"{name}.json") for name in FILES}
    lengths = {name: len(entries) for name, entries in data.items()}
    if len(set(lengths.values())) != 1:
        raise PhysPlanError(f"The question files in {folder} have different lengths: {lengths}.")
    entries = [
        _entry(number, {name: data[name][number - 1] for name in FILES}, folder, official_quirks)
        for number in range(1, lengths["prompts"] + 1)
    ]
    return stale_texts(entries) if official_quirks else entries


def stale_texts(entries: Sequence[Entry]) -> list[Entry]:
    """Quirk: the open judge is asked about a retrieved frame with the texts of the last prompt before that
    needs none, because the script sets them in that branch only."""
    asked: list[Entry] = []
    texts: tuple[str, str, str] | None = None
    for entry in entries:
        texts = entry.order if entry.middle == MIDDLE_FRAME else texts
        asked.append(replace(entry, open_order=texts or entry.order))
    return asked


def load_prompts(folder: Path) -> list[tuple[int, str]]:
    """Numbers and captions only, for generation."""
    prompts = []
    for number, entry in enumerate(_read(folder / "prompts.json"), start=1):
        caption = entry.get("caption") if isinstance(entry, dict) else None
        if not isinstance(caption, str) or not caption.strip():
            raise PhysPlanError(f"Entry {number} of {folder / 'prompts.json'} has no caption.")
        prompts.append((number, caption))
    return prompts


def _entry(number: int, parts: Mapping[str, Any], folder: Path, official_quirks: bool) -> Entry:
    try:
        prompt, order = parts["prompts"], parts["multi_question"]["multiimage_question"]
        choices = parts["video_question"]["video_question"]
        # One official script takes descriptions 4 and 5 where there are only four; meant are 3 and 4.
        shown = (1, 2, 4, 5) if official_quirks and "Description5" in choices else (1, 2, 3, 4)
        first, second, third, fourth = (choices[f"Description{i}"] for i in shown)
        # The third description is the explicit caption; one official script reads a key that is absent.
        explicit = parts["explicit_prompts"]["explicit_caption"]
        texts = (order["Description1"], order["Description2"], explicit)
        return Entry(
            number=number,
            caption=prompt["caption"],
            law=prompt["physical_laws"],
            sub_category=prompt["sub_category"],
            main_category=prompt["main_category"],
            phenomena=tuple(
                Question(
                    retrieval=question["Retrieval Prompt"],
                    statement=question["Statement"],
                    antonym=question["Antonym"],
                )
                for question in parts["single_question"]["singleimage_question"]
            ),
            middle=order["Retrieval Prompt"],
            order=texts,
            open_order=texts,
            choices=(first, second, third, fourth),
        )
    except (KeyError, TypeError) as error:
        raise PhysPlanError(
            f"Entry {number} of the questions in {folder} lacks {error}: give PhyGenBench's own files."
        ) from error


def _read(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PhysPlanError(
            f"{path} cannot be read as one of PhyGenBench's question files ({error})."
        ) from error
    if not isinstance(entries, list) or not entries:
        raise PhysPlanError(f"{path} is not a list of entries.")
    return entries
