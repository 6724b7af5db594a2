"""The way to a first video for each kind of reader: commands, download, money, privacy, time, what comes out.

`physplan doctor` prints one of them, the quick start all (tests/docs/test_ways.py holds them together).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HARD = ("gpu", "memory")  # a card cannot be fetched; a key, a server or weights can
PICTURE = "photo.jpg"
SENTENCE = "the candle burns down"


@dataclass(frozen=True, kw_only=True)
class Way:
    """`commands` can be pasted: each is a line of a shell."""

    have: str  # what the reader has
    preset: str
    commands: tuple[str, ...]
    download: str
    leaves: str  # whether pictures leave the machine
    money: str
    time: str
    gives: str
    also: str = ""  # what it needs besides


GENERATE = f'physplan generate --image {PICTURE} --prompt "{SENTENCE}" --preset'
SERVER = "vllm serve {model} --max-model-len 16384 --port 8000   # in a second terminal: pip install vllm"
BESIDE = "40 GB of memory beside the card's; stop the server after the plan, or run it on another machine"
ACCESS = "hf auth login   # after asking for access on the page of black-forest-labs/FLUX.1-Kontext-dev"

WAYS: tuple[Way, ...] = (
    Way(
        have="nothing",
        preset="photo",
        commands=(
            "physplan models get photo",
            "python -m physplan_photo.sample rocket.jpg",
            'physplan photo rocket.jpg --prompt "the rocket rises" --object "rocket@320,240@322,150"',
        ),
        download="81 MB",
        leaves="no",
        money="none",
        time="half a minute to two minutes on two CPU cores",
        gives="the photograph's own pixels in motion, 49 frames of up to 704 pixels",
    ),
    Way(
        have="a key",
        preset="cloud",
        commands=(
            "export GEMINI_API_KEY=...",
            "physplan models get cloud",
            f"{GENERATE} cloud --dry-run",
            f"{GENERATE} cloud --budget 6",
        ),
        download="1.3 GB",
        leaves="yes: to Google",
        money="about 3.50 USD with two events, 4.70 with three; never more than --budget",
        time="not measured: we had no key",
        gives="a generated video of 97 frames at 1280 x 720",
    ),
    Way(
        have="a server",
        preset="storyboard",
        commands=(
            SERVER.format(model="Qwen/Qwen3-VL-4B-Instruct"),
            "vllm serve Qwen/Qwen-Image-Edit-2511 --omni --port 8001   # in a third: pip install vllm-omni",
            "physplan models get storyboard",
            f"{GENERATE.removesuffix(' --preset')} --config local.yaml",
        ),
        download="1.0 GB, and the servers' own models",
        leaves="to your servers only",
        money="none",
        time="not measured: we had no server with a model",
        gives="the keyframes' pixels in motion, 97 frames of 704 x 480",
        also="local.yaml, which names the two servers: docs/quickstart.md",
    ),
    Way(
        have="a 12 GB card",
        preset="home",
        commands=(
            SERVER.format(model="Qwen/Qwen3-VL-4B-Instruct"),
            ACCESS,
            "physplan models get home",
            f"{GENERATE} home --dry-run",
            f"{GENERATE} home",
        ),
        download="about 51 GB",
        leaves="no",
        money="none",
        time="not measured: we had no GPU",
        gives="a generated video of 97 frames at 704 x 480",
        also=BESIDE,
    ),
    Way(
        have="a 24 GB card",
        preset="desk",
        commands=(
            SERVER.format(model="Qwen/Qwen3-VL-8B-Instruct"),
            ACCESS,
            "physplan models get desk",
            f"{GENERATE} desk --dry-run",
            f"{GENERATE} desk",
        ),
        download="about 52 GB",
        leaves="no",
        money="none",
        time="not measured: we had no GPU",
        gives="a generated video of 121 frames at 704 x 480, steered by gradients",
        also=BESIDE,
    ),
)


def chosen(found: Mapping[str, Any]) -> Way:
    """Of a survey: the way of the largest card, else of a key, else of a server, else with nothing."""
    from physplan.machine import answers, has_key

    memory = max((gpu["memory_gb"] for gpu in found["gpus"]), default=0.0)
    for name in ("desk", "home"):
        if memory and not any(one["kind"] in HARD for one in found["presets"][name]["missing"]):
            return next(way for way in WAYS if way.preset == name)
    if any(has_key(name) for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY")):
        return next(way for way in WAYS if way.preset == "cloud")
    if answers(os.environ.get("OPENAI_BASE_URL") or "http://localhost:8000/v1"):
        return next(way for way in WAYS if way.preset == "storyboard")
    return WAYS[0]
