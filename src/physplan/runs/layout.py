"""What lies in a run's folder: its names, the order in which it is made, and how each file is read back.

run.json  config.yaml           what was given, versions; settings
input.png  frame.png            the picture; the first frame as the video model sees it
plan.json                       the event chain
keyframes/1.png ...  keyframes.json   drawings, instructions, what the check found
evidence.safetensors  evidence/*.png  masks and depth, to compute with and to look at
latents.safetensors  losses.json  regions.safetensors   the sampled video, before decoding
sketch.mp4  sketch.png  simulation.mp4  the plan as a crude animation; some frames; what contradicts it
times.json                      seconds of previews, backpropagation and sampling
video.mp4  video.mkv  strip.png the video; without loss; some of its frames
signed.mp4                      the video with content credentials: docs/responsible-use.md
verdict.json                    whether the video shows what the plan says: docs/verify.md
judge.json                      what a judge that was asked answered: physplan verify --judge
report.html  failure.json       all of it on one page; why the run did not end, if it did not
attempts.json  attempts/seed0/ ...    what became of each attempt; each is a run of its own
base/                           the video model alone with the same seed, if asked for: a run of its own
preview.png  sampling.safetensors   refreshed while sampling; a sampling that was cut off goes on from it
calls/  drawings/               answers and pictures that need not be paid for again, with the ledger
stages/*.json  log.txt  .lock   what is done, and when; held by the process at work
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.foreign import inside
from physplan.graph.errors import GraphError
from physplan.graph.json_values import read_list, read_object, read_string
from physplan.methods.stage_names import STAGES as STAGES
from physplan.methods.stage_names import StageName as StageName
from physplan.runs.records import (
    LIMITS,
    Attempt,
    KeyframeRecord,
    RunRecord,
    check_losses,
    file_digest,
    load_json,
    read_from,
)

if TYPE_CHECKING:
    from PIL import Image
    from torch import Tensor

    from physplan.graph import EventChain
    from physplan.perception import Evidence
    from physplan.verify import Checked
    from physplan.verify.by_judge import Judgement
    from physplan.video.files import Video

RUN, CONFIG = "run.json", "config.yaml"
INPUT, FRAME = "input.png", "frame.png"
PLAN, UNFINISHED_PLAN = "plan.json", "plan.unfinished.json"
KEYFRAMES, KEYFRAMES_FOLDER = "keyframes.json", "keyframes"
EVIDENCE, EVIDENCE_FOLDER = "evidence.safetensors", "evidence"
LATENTS, LOSSES, REGIONS = "latents.safetensors", "losses.json", "regions.safetensors"
TIMES, SKETCH, SKETCH_STRIP, SIMULATION = "times.json", "sketch.mp4", "sketch.png", "simulation.mp4"
ATTEMPTS, ATTEMPTS_FOLDER, BASE = "attempts.json", "attempts", "base"
VIDEO, EXACT_VIDEO, STRIP, VERDICT = "video.mp4", "video.mkv", "strip.png", "verdict.json"
JUDGE = "judge.json"
SIGNED = "signed.mp4"
REPORT, PREVIEW, LOG, LOCK = "report.html", "preview.png", "log.txt", ".lock"
FAILURE, SAMPLING = "failure.json", "sampling.safetensors"
CALLS, LEDGER, DRAWINGS, RECORDS = "calls", "calls/ledger.jsonl", "drawings", "stages"
FOLDERS = (KEYFRAMES_FOLDER, EVIDENCE_FOLDER, CALLS, DRAWINGS, RECORDS, ATTEMPTS_FOLDER, BASE)
FILES = (
    *(RUN, CONFIG, INPUT, FRAME, PLAN, UNFINISHED_PLAN, KEYFRAMES, EVIDENCE, LATENTS, LOSSES, REGIONS),
    *(TIMES, SKETCH, SKETCH_STRIP, ATTEMPTS, VIDEO, EXACT_VIDEO, STRIP, VERDICT, REPORT, PREVIEW, LOG),
    *(LOCK, FAILURE, SAMPLING, SIGNED, JUDGE, SIMULATION),
)


def keyframe(number: int | str) -> str:
    """The drawing of the state after event `number`, counted from 1."""
    return f"{KEYFRAMES_FOLDER}/{number}.png"


def attempt(name: str) -> str:
    """The folder of an attempt by its name."""
    return f"{ATTEMPTS_FOLDER}/{name}"


def record(stage: str) -> str:
    return f"{RECORDS}/{stage}.json"


def load_plan(folder: Path) -> EventChain:
    from physplan.graph import EventChain

    return EventChain.load(inside(folder, PLAN))


def load_run(folder: Path) -> RunRecord:
    """What the run is. FileNotFoundError where the folder holds none."""
    try:
        return RunRecord.from_json(load_json(folder, RUN))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (GraphError, OSError, PhysPlanError) as error:
        raise PhysPlanError(
            f"{folder / RUN} is not of a PhysPlan run ({error}): choose another folder."
        ) from None


def require_run(folder: Path) -> RunRecord:
    """What the run is, or a sentence where the folder holds none."""
    try:
        return load_run(folder)
    except OSError:
        raise PhysPlanError(
            f"{folder} is no folder of a run: give one that `physplan generate` made."
        ) from None


def load_keyframe_records(folder: Path) -> list[KeyframeRecord]:
    with read_from(folder / KEYFRAMES):
        entries = read_list(load_json(folder, KEYFRAMES), "$", LIMITS.max_nodes)
        return [KeyframeRecord.from_json(entry, f"$[{i}]", i + 1) for i, entry in enumerate(entries)]


def load_keyframes(folder: Path) -> list[Image.Image]:
    return [load_picture(folder, keyframe(entry.event)) for entry in load_keyframe_records(folder)]


def load_picture(folder: Path, name: str) -> Image.Image:
    from physplan.pictures import open_picture

    return open_picture(inside(folder, name), min_side=1)


def load_evidence(folder: Path) -> Evidence:
    from physplan.perception import Evidence

    return Evidence.load(inside(folder, EVIDENCE))


def load_failure(folder: Path) -> dict[str, str] | None:
    """Why the run did not end, and whether it helps to run it again; None where it did or is under way."""
    try:
        found = read_object(load_json(folder, FAILURE), "$", ("error", "same_command"))
        return {name: read_string(found[name], f"$.{name}") for name in ("error", "same_command")}
    except (OSError, PhysPlanError, GraphError):
        return None


def load_judgement(folder: Path) -> Judgement | None:
    """A judge's answers about the video that is there now; None where there are none."""
    from physplan.verify.judgement_json import read_judgement

    if not (folder / JUDGE).is_file():
        return None
    with read_from(folder / JUDGE):
        found = read_object(load_json(folder, JUDGE), "$")
        same = found.get("video") == file_digest(folder / EXACT_VIDEO)
        return read_judgement(found) if same else None


def load_losses(folder: Path) -> dict[str, Any]:
    """Every term of every guided repeat."""
    with read_from(folder / LOSSES):
        return check_losses(load_json(folder, LOSSES))


def load_regions(folder: Path) -> dict[str, Tensor]:
    """By the terms' labels; none where the sampling was not guided."""
    from safetensors import SafetensorError

    from physplan.tensors import open_tensors

    path = inside(folder, REGIONS)
    if not path.exists():
        return {}
    with read_from(path):
        try:
            with open_tensors(path) as file:
                regions = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        except SafetensorError as error:
            raise ValueError(str(error)) from None
        for label, region in regions.items():
            if event_of(label) is None or region.ndim != 2 or not region.is_floating_point():
                raise ValueError(f"{label[:80]!r} is not the region of a term")
        return regions


def event_of(label: str) -> int | None:
    """The event's number, from 1, that a term's label begins with."""
    found = re.match(r"event ([1-9]\d{0,5}),", label)
    return int(found[1]) if found else None


def load_attempts(folder: Path) -> tuple[Attempt, ...]:
    """In their order; none where one sampling was all that was asked for."""
    if not inside(folder, ATTEMPTS).exists():
        return ()
    with read_from(folder / ATTEMPTS):
        entries = read_list(load_json(folder, ATTEMPTS), "$", LIMITS.max_nodes)
        return tuple(Attempt.from_json(entry, f"$[{i}]") for i, entry in enumerate(entries))


def load_verdict(folder: Path) -> Checked:
    from physplan.verify.verdict_json import read_verdict

    with read_from(folder / VERDICT):
        return read_verdict(load_json(folder, VERDICT))


def load_video(folder: Path, name: str = EXACT_VIDEO) -> Video:
    from physplan.video.files import read_video

    return read_video(inside(folder, name))
