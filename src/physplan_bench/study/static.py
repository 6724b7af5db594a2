"""The study as a folder of plain files, for hosting anywhere: votes stay in the browser and become a file."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from physplan.foreign import inside
from physplan_bench.new_folder import new_folder
from physplan_bench.study.assign import Trial
from physplan_bench.study.design import FRAMES, VIDEOS, Study, load_study
from physplan_bench.study.server import PAGE, page_file
from physplan_bench.study.session import texts

# `file:` because a page that is opened from a disk has no origin of its own.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; "
    "media-src 'self' file:; base-uri 'none'; form-action 'none'"
)
MARK = "<!--@DATA@-->"


def export(folder: Path, output: Path) -> Study:
    """Whole or not at all."""
    study = load_study(folder)
    with new_folder(output) as made:
        for part in (VIDEOS, FRAMES):
            (made / part).mkdir()
        for name in study.files():
            shutil.copyfile(inside(folder, name), inside(made, name))
        for name in PAGE:
            (made / name).write_bytes(page_file(name))
        (made / PAGE[0]).write_text(page(study), "utf-8")
    return study


def page(study: Study) -> str:
    # A "</script>" or "<!--" inside a string would end the element.
    data = json.dumps(embedded(study)).replace("<", "\\u003c")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
    block = f'{policy}\n<script type="application/json" id="study">{data}</script>'
    return page_file(PAGE[0]).decode().replace(MARK, block)


def embedded(study: Study) -> dict[str, Any]:
    """All hands, as numbers into one shuffled list of cards: checks do not stand apart from pairs."""
    trials = [Trial(kind="pair", index=i, flipped=False) for i in range(len(study.pairs))]
    trials += [Trial(kind="check", index=i, flipped=False) for i in range(len(study.checks))]
    rng = random.Random(study.id)
    rng.shuffle(trials)
    # Which of a card's videos stands first says nothing either.
    cards = [replace(trial, flipped=rng.random() < 0.5) for trial in trials]
    place = {(card.kind, card.index): (number, card.flipped) for number, card in enumerate(cards)}
    names = ("prompt", "frame", "first", "second")
    return texts(study) | {
        "codes": study.codes,
        "cards": [dict(zip(names, study.sides(trial), strict=True)) for trial in cards],
        "hands": [[_entry(trial, *place[trial.kind, trial.index]) for trial in hand] for hand in study.hands],
    }


def _entry(trial: Trial, card: int, swapped: bool) -> list[int]:
    return [card, int(trial.flipped != swapped)]
