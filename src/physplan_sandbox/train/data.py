"""Training clips: the outcome is random, and in a share of clips a distractor changes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from physplan_sandbox.models.outcome_code import TRAIN_DISTRACTOR_PROB, clip_outcome_code
from physplan_sandbox.world.phenomena import PHENOMENA, scene
from physplan_sandbox.world.render import FRAMES, Clip
from physplan_sandbox.world.scene import DistractorChange, Scene

PLAUSIBLE_SHARE = 0.30  # share of clips with the plausible outcome


def draw_clip(index: int, *, split: str = "train") -> tuple[Scene, str, DistractorChange | None, int]:
    """Scene, outcome, distractor change and take of clip `index`, deterministic."""
    rng = np.random.default_rng([7, index])
    chosen = scene(split, index)
    others = [o for o in chosen.outcomes if o != chosen.plausible]
    outcome = chosen.plausible if rng.random() < PLAUSIBLE_SHARE else str(rng.choice(others))
    changes = rng.random() < TRAIN_DISTRACTOR_PROB and chosen.distractors
    change = DistractorChange.sample(list(chosen.distractors), rng) if changes else None
    return chosen, outcome, change, int(rng.integers(1, 1000))


def training_clip(index: int, *, split: str = "train") -> tuple[Clip, str]:
    """The clip and its prompt."""
    chosen, outcome, change, take = draw_clip(index, split=split)
    return chosen.render(outcome, take=take, change=change), chosen.prompt


def training_outcome_code(index: int, *, split: str = "train") -> Tensor:
    """Outcome code of clip `index`."""
    chosen, outcome, change, take = draw_clip(index, split=split)
    return clip_outcome_code(chosen, outcome, chosen.take(take), change, np.random.default_rng([8, index]))


def all_prompts() -> list[str]:
    """The empty prompt first."""
    return ["", *(prompt for p in PHENOMENA.values() for prompt in p.prompts)]


def _frames(index: int) -> tuple[NDArray[np.uint8], str]:
    clip, prompt = training_clip(index)
    return clip.frames, prompt


def frame_stream(count: int, *, start: int = 0, workers: int = 2) -> Iterator[tuple[NDArray[np.uint8], str]]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_frames, range(start, start + count), chunksize=16)


def cache_frames(folder: Path, count: int, *, workers: int = 2, size: int = 96) -> NDArray[np.uint8]:
    """[count, T, H, W, 3], rendered once and memory-mapped afterwards."""
    path = folder / f"frames-{count}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        store = open_memmap(partial, mode="w+", dtype=np.uint8, shape=(count, FRAMES, size, size, 3))
        stream = frame_stream(count, workers=workers)
        for k, (frames, _) in enumerate(tqdm(stream, total=count, desc="rendering clips")):
            store[k] = frames
        store.flush()
        partial.rename(path)
    return np.load(path, mmap_mode="r")
