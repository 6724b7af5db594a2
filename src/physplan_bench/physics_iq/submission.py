"""A submission to the Physics-IQ Verified leaderboard: card, descriptions, runs and per-sample tables.

The layout is the official validator's: `submission.yaml`, `descriptions.csv`, `runs/<name>/*.mp4`; the tables
lie beside it in `tables/<name>.csv`. Names, costs, terms and warranties are the submitter's: they come from
a card of theirs (`--card`), never from here.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan_bench.new_folder import new_folder
from physplan_bench.physics_iq.dataset import COLUMNS, Scene, VideoSet
from physplan_bench.physics_iq.sample_table import sample_table
from physplan_bench.videos import probe

TERMS_VERSION = "1.0"
REQUIRED = (
    *("organization", "model", "model_version", "input_type", "availability", "model_source"),
    *("date", "generation_cost", "bon_sampling", "prompt_upsampling"),
)
OWN_MACHINE = ("generation_gpu", "generation_ngpu", "generation_time")  # unless the model is behind an API
UPSAMPLING = ("upsample_cost",)
UPSAMPLING_ON_OWN_MACHINE = ("upsample_gpu", "upsample_ngpu", "upsample_time")
WARRANTIES = (
    *("has_rights_to_submit", "no_ip_infringement", "permitted_by_provider_tos"),
    *("no_personal_data_in_content", "metadata_accurate"),
)
SCORES = {"spatial": "spatial_iou", "weighted_spatial": "weighted_spatial_iou",
          "spatiotemporal": "spatiotemporal_iou", "mse": "mse"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Submission:
    """`runs`: name -> its videos and its result; `scenes` carry the prompts that were used."""

    runs: Mapping[str, tuple[VideoSet, Mapping[str, Any]]]
    combined: Mapping[str, Any]
    scenes: Sequence[Scene]
    prompts: str  # "op" or "bpp"
    templater: str | None = None


def read_card(path: Path) -> dict[str, Any]:
    """The submitter's card, complete, or an error that lists what is missing."""
    try:
        card = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PhysPlanError(f"{path} cannot be read as a submission card ({error}).") from error
    if not isinstance(card, dict):
        raise PhysPlanError(f"{path} is no submission card: it holds public_info, terms and warranties.")
    if faults := card_faults(card):
        raise PhysPlanError(f"{path}: " + "; ".join(faults) + ". Fill these in; they are yours to state.")
    return card


def card_faults(card: Mapping[str, Any]) -> list[str]:
    """What the official validator would refuse, of the parts that the submitter states."""
    public, terms, warranties = (card.get(part) or {} for part in ("public_info", "terms", "warranties"))
    wanted = list(REQUIRED)
    own_machine = public.get("availability") != "api"
    wanted += OWN_MACHINE if own_machine else ()
    if public.get("prompt_upsampling") is True:
        wanted += (*UPSAMPLING, *(UPSAMPLING_ON_OWN_MACHINE if own_machine else ()))
    faults = [f"public_info.{name} is empty" for name in wanted if public.get(name) in (None, "")]
    if terms.get("terms_version") != TERMS_VERSION:
        faults.append(f'terms.terms_version is not "{TERMS_VERSION}"')
    if terms.get("terms_accepted") is not True:
        faults.append("terms.terms_accepted is not true")
    faults += [
        f"terms.{name} is empty" for name in ("accepted_on_behalf_of", "accepted_at") if not terms.get(name)
    ]
    return faults + [
        f"warranties.{name} is not true" for name in WARRANTIES if warranties.get(name) is not True
    ]


def write_submission(target: Path, card: Mapping[str, Any], submission: Submission) -> None:
    """All of it or nothing: the folder appears when it is complete."""
    if wrong := [name for name in submission.runs if not re.fullmatch(r"[\w.-]+", name)]:
        raise PhysPlanError(
            f"The run folder {wrong[0]!r} has a name that a submission cannot carry: rename it."
        )
    with new_folder(target) as folder:
        _fill(folder, card, submission)


def _fill(folder: Path, card: Mapping[str, Any], submission: Submission) -> None:
    text = yaml.safe_dump(complete_card(card, submission), sort_keys=False, allow_unicode=True)
    write_atomic(folder / "submission.yaml", text)
    write_atomic(folder / "descriptions.csv", _descriptions(submission.scenes))
    (folder / "tables").mkdir()
    for name, (videos, result) in submission.runs.items():
        (folder / "runs" / name).mkdir(parents=True)
        for scene in videos.scenes:
            _place(scene.generated, folder / "runs" / name / scene.scene.generated_name)
        write_atomic(folder / "tables" / f"{name}.csv", sample_table(result))


def complete_card(card: Mapping[str, Any], submission: Submission) -> dict[str, Any]:
    """The submitter's card with what was measured: scores, frame rate, resolution, prompts."""
    first = next(iter(submission.runs.values()))[0]
    info = probe(first.scenes[0].generated)
    measured = {
        "fps": first.fps,
        "resolution": f"{info.width}x{info.height}",
        "descriptions": submission.prompts,
        "templater": submission.templater,
    }
    found = {"physiq": submission.combined["score"]} | {
        official: submission.combined["verified"][name] for name, official in SCORES.items()
    }
    scores = {
        f"{name}_{which}": round(value[which] if value[which] is not None else 0.0, 4)
        for name, value in found.items()
        for which in ("mean", "std")
    }
    return {**card, "public_info": {**card["public_info"], **measured}, "reported_scores": scores}


def _descriptions(scenes: Sequence[Scene]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for scene in scenes:
        name = f"{scene.id}_{scene.view}_take-1_{scene.scenario}.mp4"
        writer.writerow((name, scene.description, scene.category, scene.generated_name))
    return text.getvalue()


def _place(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
