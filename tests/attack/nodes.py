"""ComfyUI's nodes: what a workflow, which is a file that people share, and other nodes hand to them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from PIL import Image
from tests.attack.campaign import SCRIPT, Arena, Probe
from tests.attack.options import LAUGHS, VALUES
from torch import Tensor

from integrations.comfyui import work
from physplan_testing import melting

KEPT: dict[str, Any] = {}  # a plan, its keyframes and evidence: made once


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        ATTACKS[probe.number % len(ATTACKS)](probe)
        probe.tried()


def picture(arena: Arena) -> Tensor:
    with Image.open(Path(arena.models) / "ice.png") as found:
        return torch.from_numpy(np.asarray(found.convert("RGB")).astype("float32") / 255)[None]


def scene(arena: Arena) -> work.Scene:
    if not KEPT:
        made = work.plan(picture(arena), melting.PROMPT, "sandbox", "editor.redraws=0")
        drawn, _, _ = work.keyframes(made)
        KEPT.update(scene=made, drawn=drawn, seen=work.evidence(made, drawn)[0])
    return KEPT["scene"]  # type: ignore[no-any-return]


def odd_tensor(chance: Random, good: Tensor) -> Tensor:
    """Pictures of a node that means nothing good: no pixels, no numbers, other shapes and kinds."""
    kinds: list[Callable[[], Tensor]] = [
        lambda: good * math.nan,
        lambda: good * math.inf,
        lambda: good * 1e38 - 1e38,
        lambda: -good,
        lambda: (good * 255).byte(),
        lambda: (good * 255).long(),
        lambda: good > 0.5,
        lambda: good.to(torch.complex64),
        lambda: good.half(),
        lambda: good[:0],
        lambda: good[:, :0],
        lambda: good[:, :1, :1],
        lambda: good.repeat(1, 1, *[3] * (good.ndim - 2)),
        lambda: good[0],
        lambda: good[..., :1],
        lambda: torch.zeros(0),
        lambda: torch.tensor(0.5),
        lambda: torch.zeros(1, 8, 8, 4),
        lambda: good.repeat(40, *[1] * (good.ndim - 1)),
        lambda: good.transpose(1, 2),
    ]
    return chance.choice(kinds)()


def odd_pictures(probe: Probe) -> None:
    good = picture(probe.arena)
    spoilt = good.clone()  # in one pixel, so that the scene is still recognised
    spoilt[0, 0, 0, 0] = probe.chance.choice([math.nan, math.inf])
    for image in (spoilt, odd_tensor(probe.chance, good)):
        with probe.within(60, megabytes=600):
            work.plan(image, melting.PROMPT, "sandbox")
            numbers = torch.is_complex(image) or bool(torch.isfinite(image.float()).all())
            probe.expect(numbers, "a picture of no numbers was planned")


def odd_words(probe: Probe) -> None:
    chance, words = (
        probe.chance,
        ["", SCRIPT, "\x1b[2J\u202e", "\ud800", "x" * 100_000, "a\0b", melting.PROMPT],
    )
    lines = chance.choice(["video.fps", "preset", "a.b", "reasoner.prompts", "editor.options", ""])
    settings = chance.choice([f"{lines}={chance.choice(VALUES)}", LAUGHS, "=" * 1_000, SCRIPT, ""])
    with probe.within(60, megabytes=600):
        work.plan(
            picture(probe.arena), chance.choice(words), chance.choice(["sandbox", "x", "../x"]), settings
        )


def odd_plans(probe: Probe) -> None:
    chance, good = probe.chance, work.plan_text(scene(probe.arena))
    value = json.loads(good)
    value[chance.choice(list(value))] = chance.choice([None, [], {}, -1, "x" * 20_000, SCRIPT, [[]] * 1_000])
    text = chance.choice(
        [json.dumps(value), good[: chance.randrange(len(good))], "[" * 50_000, "\ud800", "nul"]
    )
    with probe.within(60):
        edited, notes = work.edit_plan(scene(probe.arena), text)
        probe.hear(notes)
        work.show_plan(edited)


def odd_keyframes(probe: Probe) -> None:
    made = scene(probe.arena)
    count = len(made.chain.events)
    given = odd_tensor(probe.chance, picture(probe.arena).repeat(count, 1, 1, 1))
    with probe.within(60, megabytes=600):
        work.keyframes(made, given)


def odd_masks(probe: Probe) -> None:
    made = scene(probe.arena)
    _, masks, _ = work.evidence(made, KEPT["drawn"])
    with probe.within(60, megabytes=600):
        found, _, _ = work.evidence(made, KEPT["drawn"], odd_tensor(probe.chance, masks))
        work.sketch(made, found)


def odd_runs(probe: Probe) -> None:
    """Methods, seeds and steps as a workflow names them."""
    chance, made = probe.chance, scene(probe.arena)
    method = chance.choice(["", "x", "../base", "base", "sketch", SCRIPT])
    seed = chance.choice([-1, 2**64, 10**400, math.nan, "1", None, 0])
    steps = chance.choice([-1, 10**9, math.nan, "x", 1])
    with probe.within(60, megabytes=900):
        work.generate(made, method, seed, drawn=KEPT["drawn"], seen=KEPT["seen"], steps=steps)  # type: ignore[arg-type]


def odd_videos(probe: Probe) -> None:
    made = scene(probe.arena)
    frames = odd_tensor(probe.chance, picture(probe.arena).repeat(9, 1, 1, 1))
    with probe.within(60, megabytes=900):
        verdict, score, said = work.verify(made, frames, probe.chance.choice([KEPT["seen"], None]))
        probe.hear(said)
        probe.expect(math.isfinite(score), f"a score of {score}")
        if not torch.is_complex(frames) and not torch.isfinite(frames.float()).all():
            probe.expect(verdict != "holds", "a video of no numbers holds")


ATTACKS: tuple[Callable[[Probe], None], ...] = (
    *(odd_pictures, odd_words, odd_plans, odd_keyframes, odd_masks, odd_runs, odd_videos),
)
