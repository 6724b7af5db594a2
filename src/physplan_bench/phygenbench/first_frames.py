"""A first frame for each prompt, drawn by an image model: the benchmark itself is text-to-video."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from physplan.calls.addresses import check_url
from physplan.calls.protocol import Request
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan_bench.cases import Case, CaseStore
from physplan_bench.engine import CaseFunction, EngineConfig, Progress, run_cases

PROMPT = (
    "Draw one photorealistic picture: the very first frame of a video, before anything has happened, for "
    "this prompt. All objects that the prompt names are in place; nothing has changed yet. No text.\n\n"
    "Prompt: {caption}"
)
SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}


def draw_first_frames(
    prompts: Sequence[tuple[int, str]],
    folder: Path,
    *,
    model: str,
    aspect_ratio: str = "3:2",
    base_url: str | None = None,
    budget: float | None = None,
    total: Path | None = None,
    engine: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[int, Path]:
    """One picture per prompt in its case's folder, by number; a stored answer is not paid for again.

    The budget is for these pictures, or, where the ledger `total` is given, for all that is in it.
    """
    cases = [
        Case(
            name=f"{number:03d}",
            identity={"caption": caption, "model": model, "prompt": PROMPT, "aspect_ratio": aspect_ratio},
        )
        for number, caption in prompts
    ]
    limits: dict[str, Any] = {"total_ledger": total, "total_budget": budget} if total else {"budget": budget}
    named = (check_url(base_url),) if base_url else ()  # typed with the command: a yes to its host
    settings = CallSettings(folder=folder / "calls", base_url=base_url, allow_hosts=named, **limits)
    report = run_cases(cases, partial(make_draw, settings), folder, config=engine, progress=progress)
    report.require_complete()
    store = CaseStore(folder)
    return {
        int(case.name): store.directory(case) / str(report.results[case.name]["file"])
        for case in cases
        if case.name in report.results
    }


def find_first_frames(folder: Path, numbers: Sequence[int]) -> dict[int, Path]:
    """The pictures by number, wherever below the folder they are."""
    found: dict[int, list[Path]] = {}
    for path in sorted(folder.rglob("first_frame_*")):
        if match := re.fullmatch(r"first_frame_(\d+)\.(png|jpe?g|webp)", path.name.lower()):
            found.setdefault(int(match[1]), []).append(path)
    missing = [number for number in numbers if number not in found]
    if missing:
        raise PhysPlanError(
            f"{folder} lacks {len(missing)} first frames, such as that of prompt {missing[0]}: draw them "
            "with --image-model MODEL, or name your own first_frame_1.png and so on."
        )
    several = [number for number in numbers if len(found[number]) > 1]
    if several:
        raise PhysPlanError(
            f"{folder} has {len(found[several[0]])} first frames of prompt {several[0]}: name the "
            "--image-model whose pictures you mean, or keep one."
        )
    return {number: found[number][0] for number in numbers}


def make_draw(settings: CallSettings) -> CaseFunction:
    gateway = connect("gemini", settings)

    def draw(case: Case, directory: Path) -> Mapping[str, Any]:
        request = Request(
            purpose="first_frame",
            model=case.identity["model"],
            text=case.identity["prompt"].format(caption=case.identity["caption"]),
            output="image",
            options={"aspect_ratio": case.identity["aspect_ratio"]},
        )
        reply = gateway.ask(request).reply
        if not reply.images:
            raise PhysPlanError(f"{case.identity['model']} drew no picture for prompt {case.name}.")
        name = f"first_frame_{int(case.name)}{SUFFIXES.get(reply.images[0].media_type, '.png')}"
        write_atomic(directory / name, reply.images[0].data)
        return {"file": name, "model": reply.model}

    return draw
