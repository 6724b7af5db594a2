"""Clips as the networks of much noise learn them: means of two frames, encoded, and no frame of them kept.

A clip's frames take four times the room. The outline network knew 8,000 clips by heart (error in moving cells
at noise step 857: 0.19 in those, 0.25 in others), so it needs more of them than one would keep as frames.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from physplan.files import atomic_path
from physplan.sandbox.models.autoencoder import FrameAutoencoder
from physplan.sandbox.models.copying import STRIDE
from physplan.sandbox.models.outline import BLOCK
from physplan.sandbox.models.text import build_text_encoder, build_tokenizer, encode_prompts
from physplan.sandbox.train.autoencoder import to_input
from physplan.sandbox.train.data import all_prompts, clip_lot, frame_stream

TOGETHER = 500  # clips per file
NO_WORDS = 0.12  # share of the clips trained without their prompt, for classifier-free guidance
NO_LOTS = 0.3  # share of the clips of which it is not told what chance decided: the noise shows it, then


@dataclass(frozen=True)
class Halves:
    """Of every clip, about 0.2 MB a clip, or 0.4 with the pairs between."""

    departures: Tensor  # [N, C, k, h, w]: of pairs of frames, in half precision
    pictures: Tensor  # [N, H, W, 3]: the first frames, bytes
    prompts: list[str]
    lots: Tensor  # [N, numbers]: what chance decided (`physplan.sandbox.models.lots`)

    def __len__(self) -> int:
        return len(self.prompts)


def halves_of(folder: Path, count: int, frozen: FrameAutoencoder, *, every: int = BLOCK) -> Halves:
    """Of the first `count` training clips, a pair at every `every` frames; what was made before, by this
    autoencoder, is read."""
    place = folder / f"{'halves' if every == BLOCK else 'pairs'}-and-lots-{of_latents(frozen)}"
    place.mkdir(parents=True, exist_ok=True)
    parts: list[Halves] = []
    for start in tqdm(range(0, count, TOGETHER), desc="rendering and encoding clips"):
        many = min(TOGETHER, count - start)
        path = place / f"{start}-{many}.pt"
        if not path.exists():
            with atomic_path(path) as temporary:
                torch.save(vars(encoded(start, many, frozen, every)), temporary)
        parts.append(Halves(**torch.load(path, weights_only=True)))
    return Halves(
        torch.cat([part.departures for part in parts]),
        torch.cat([part.pictures for part in parts]),
        [prompt for part in parts for prompt in part.prompts],
        torch.cat([part.lots for part in parts]),
    )


@torch.no_grad()
def encoded(start: int, count: int, frozen: FrameAutoencoder, every: int) -> Halves:
    departures, pictures, prompts = [], [], []
    for frames, prompt in frame_stream(count, start=start, workers=torch.get_num_threads()):
        clean = frozen.coarse(to_input(frames).transpose(0, 1)[None])
        departed = (clean - clean[:, :, :1])[:, :, 1:]
        departures.append(F.avg_pool3d(departed, (BLOCK, 1, 1), stride=(every, 1, 1)).half())
        pictures.append(torch.from_numpy(frames[:1].copy()))
        prompts.append(prompt)
    drawn = torch.stack([clip_lot(index) for index in range(start, start + count)])
    return Halves(torch.cat(departures), torch.cat(pictures), prompts, drawn)


@dataclass(frozen=True)
class Whole:
    """Whole clips as the networks of much noise are shown them."""

    departures: Tensor  # [B, C, k, h, w]: of pairs of frames
    pictures: Tensor  # [B, C + 108, h, w]
    blocks: Tensor  # [B, C, rows, columns]
    text: Tensor  # [B, tokens, channels]
    lots: Tensor  # [B, numbers]


#: (how many, generator, whether all is told) -> some of the clips
DrawWhole = Callable[[int, np.random.Generator, bool], Whole]


def whole_clips(folder: Path, clips: int, frozen: FrameAutoencoder, *, every: int = BLOCK) -> DrawWhole:
    """Unless all is told, of a share of the clips the words are not, of a share the lots."""
    seen, words = halves_of(folder, clips, frozen, every=every), all_prompts()
    embeddings = encode_prompts(build_tokenizer(), build_text_encoder(), words)
    prompts = np.array([words.index(prompt) for prompt in seen.prompts])

    def draw(many: int, rng: np.random.Generator, all_told: bool) -> Whole:
        chosen = rng.choice(len(seen), many, replace=False)
        named = np.where(all_told | (rng.random(many) >= NO_WORDS), prompts[chosen], 0)
        known = torch.from_numpy(all_told | (rng.random((many, 1)) >= NO_LOTS))
        at = torch.from_numpy(chosen)
        with torch.autocast("cpu", enabled=False):
            images = to_input(seen.pictures[at].numpy())
            return Whole(
                departures=seen.departures[at].float(),
                pictures=frozen.encode(images[:, :, None])[:, :, 0],
                blocks=frozen.blocks(images, STRIDE),
                text=embeddings[torch.from_numpy(named)],
                lots=seen.lots[at] * known,
            )

    return draw


def smaller(halves: Tensor) -> Tensor:
    """What the outline network sees of clips at half the rate [B, C, k, 2h, 2w]."""
    return F.avg_pool3d(halves, (1, BLOCK, BLOCK))


def fingerprint(tensors: Iterable[Tensor]) -> str:
    """Of weights: what other ones have made is of no use."""
    digest = hashlib.sha256()
    for value in tensors:
        digest.update(value.float().numpy().tobytes())
    return digest.hexdigest()[:12]


def of_latents(frozen: FrameAutoencoder) -> str:
    """Of what decides about latents; another decoder leaves them as they are."""
    return fingerprint([frozen.patterns, frozen.scale])
