"""Clips as the outline network learns them: rendered, encoded, shrunken, and no frame of them kept.

A clip's frames take nine times the room. The network knew 8,000 clips by heart (error in moving cells at
noise step 857: 0.19 in those, 0.25 in others), so it needs more of them than one would keep as frames.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from physplan.files import atomic_path
from physplan.sandbox.models.autoencoder import FrameAutoencoder
from physplan.sandbox.models.copying import STRIDE
from physplan.sandbox.models.outline import shrink
from physplan.sandbox.train.autoencoder import to_input
from physplan.sandbox.train.data import clip_lot, frame_stream

TOGETHER = 500  # clips per file


@dataclass(frozen=True)
class Outlines:
    """Of every clip, in half precision, about 0.1 MB a clip."""

    departures: Tensor  # [N, C, k, h, w]: shrunken
    pictures: Tensor  # [N, C, 2h, 2w]: the first frame's latent
    blocks: Tensor  # [N, C, rows, columns]: the first frame's, to copy from
    prompts: list[str]
    lots: Tensor  # [N, numbers]: what chance decided (`physplan.sandbox.models.lots`)

    def __len__(self) -> int:
        return len(self.prompts)


def outlines_of(folder: Path, count: int, frozen: FrameAutoencoder) -> Outlines:
    """Of the first `count` training clips; what was made before, by this autoencoder, is read."""
    place = folder / f"outlines-and-lots-{of_latents(frozen)}"
    place.mkdir(parents=True, exist_ok=True)
    parts: list[Outlines] = []
    for start in tqdm(range(0, count, TOGETHER), desc="rendering and encoding clips"):
        many = min(TOGETHER, count - start)
        path = place / f"{start}-{many}.pt"
        if not path.exists():
            with atomic_path(path) as temporary:
                torch.save(vars(encoded(start, many, frozen)), temporary)
        parts.append(Outlines(**torch.load(path, weights_only=True)))
    return Outlines(
        torch.cat([part.departures for part in parts]),
        torch.cat([part.pictures for part in parts]),
        torch.cat([part.blocks for part in parts]),
        [prompt for part in parts for prompt in part.prompts],
        torch.cat([part.lots for part in parts]),
    )


@torch.no_grad()
def encoded(start: int, count: int, frozen: FrameAutoencoder) -> Outlines:
    departures, pictures, blocks, prompts = [], [], [], []
    for frames, prompt in frame_stream(count, start=start, workers=torch.get_num_threads()):
        video = to_input(frames)
        clean = frozen.coarse(video.transpose(0, 1)[None])
        departures.append(shrink(clean - clean[:, :, :1]).half())
        pictures.append(clean[:, :, 0].half())
        blocks.append(frozen.blocks(video[:1], STRIDE).half())
        prompts.append(prompt)
    drawn = torch.stack([clip_lot(index) for index in range(start, start + count)])
    return Outlines(torch.cat(departures), torch.cat(pictures), torch.cat(blocks), prompts, drawn)


def fingerprint(tensors: Iterable[Tensor]) -> str:
    """Of weights: what other ones have made is of no use."""
    digest = hashlib.sha256()
    for value in tensors:
        digest.update(value.float().numpy().tobytes())
    return digest.hexdigest()[:12]


def of_latents(frozen: FrameAutoencoder) -> str:
    """Of what decides about latents; another decoder leaves them as they are."""
    return fingerprint([frozen.patterns, frozen.scale])
