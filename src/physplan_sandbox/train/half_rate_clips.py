"""Half-rate training clips for the outline and contour networks: encoded pairs of frames, cached on disk.

Pairs take a quarter of the frames' space, so more clips fit; the outline network overfits on 8,000
(docs/lab-log.md).
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
from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.models.copying import BLOCK_STRIDE
from physplan_sandbox.models.outline import BLOCK_SIZE
from physplan_sandbox.models.text import build_text_encoder, build_tokenizer, encode_prompts
from physplan_sandbox.train.autoencoder import to_input
from physplan_sandbox.train.data import all_prompts, frame_stream, training_outcome_code

CLIPS_PER_FILE = 500  # of a cache file
PROMPT_DROPOUT = 0.12  # for classifier-free guidance
OUTCOME_DROPOUT = 0.3  # share of clips whose outcome code is zeroed


@dataclass(frozen=True)
class HalfRateClips:
    """Encoded clips: about 0.2 MB each, 0.4 with overlapping pairs."""

    residuals: Tensor  # [N, C, k, h, w]: means of frame pairs, float16
    pictures: Tensor  # [N, H, W, 3]: first frames, uint8
    prompts: list[str]
    outcome_codes: Tensor  # [N, CODE_SIZE]

    def __len__(self) -> int:
        return len(self.prompts)


def cache_half_rate_clips(
    folder: Path, count: int, frozen: FrameAutoencoder, *, every: int = BLOCK_SIZE
) -> HalfRateClips:
    """The first `count` training clips, a pair every `every` frames; cached per autoencoder."""
    place = folder / f"{'half-rate' if every == BLOCK_SIZE else 'pairs'}-clips-{latent_fingerprint(frozen)}"
    place.mkdir(parents=True, exist_ok=True)
    parts: list[HalfRateClips] = []
    for start in tqdm(range(0, count, CLIPS_PER_FILE), desc="rendering and encoding clips"):
        many = min(CLIPS_PER_FILE, count - start)
        path = place / f"{start}-{many}.pt"
        if not path.exists():
            with atomic_path(path) as temporary:
                torch.save(vars(encoded(start, many, frozen, every)), temporary)
        parts.append(HalfRateClips(**torch.load(path, weights_only=True)))
    return HalfRateClips(
        torch.cat([part.residuals for part in parts]),
        torch.cat([part.pictures for part in parts]),
        [prompt for part in parts for prompt in part.prompts],
        torch.cat([part.outcome_codes for part in parts]),
    )


@torch.no_grad()
def encoded(start: int, count: int, frozen: FrameAutoencoder, every: int) -> HalfRateClips:
    residuals, pictures, prompts = [], [], []
    for frames, prompt in frame_stream(count, start=start, workers=torch.get_num_threads()):
        clean = frozen.coarse(to_input(frames).transpose(0, 1)[None])
        residual = (clean - clean[:, :, :1])[:, :, 1:]
        residuals.append(F.avg_pool3d(residual, (BLOCK_SIZE, 1, 1), stride=(every, 1, 1)).half())
        pictures.append(torch.from_numpy(frames[:1].copy()))
        prompts.append(prompt)
    drawn = torch.stack([training_outcome_code(index) for index in range(start, start + count)])
    return HalfRateClips(torch.cat(residuals), torch.cat(pictures), prompts, drawn)


@dataclass(frozen=True)
class ClipBatch:
    """A batch of whole clips with their conditioning."""

    residuals: Tensor  # [B, C, k, h, w]: means of frame pairs
    pictures: Tensor  # [B, C + 108, h, w]
    blocks: Tensor  # [B, C, rows, columns]
    text: Tensor  # [B, tokens, channels]
    outcome_codes: Tensor  # [B, CODE_SIZE]


#: (batch size, generator, fully conditioned) -> a batch
SampleClips = Callable[[int, np.random.Generator, bool], ClipBatch]


def clip_sampler(
    folder: Path, clips: int, frozen: FrameAutoencoder, *, every: int = BLOCK_SIZE
) -> SampleClips:
    """Samples batches; unless fully conditioned, with prompt and outcome dropout."""
    seen, words = cache_half_rate_clips(folder, clips, frozen, every=every), all_prompts()
    embeddings = encode_prompts(build_tokenizer(), build_text_encoder(), words)
    prompts = np.array([words.index(prompt) for prompt in seen.prompts])

    def draw(many: int, rng: np.random.Generator, fully_conditioned: bool) -> ClipBatch:
        chosen = rng.choice(len(seen), many, replace=False)
        named = np.where(fully_conditioned | (rng.random(many) >= PROMPT_DROPOUT), prompts[chosen], 0)
        known = torch.from_numpy(fully_conditioned | (rng.random((many, 1)) >= OUTCOME_DROPOUT))
        at = torch.from_numpy(chosen)
        with torch.autocast("cpu", enabled=False):
            images = to_input(seen.pictures[at].numpy())
            return ClipBatch(
                residuals=seen.residuals[at].float(),
                pictures=frozen.encode(images[:, :, None])[:, :, 0],
                blocks=frozen.blocks(images, BLOCK_STRIDE),
                text=embeddings[torch.from_numpy(named)],
                outcome_codes=seen.outcome_codes[at] * known,
            )

    return draw


def spatial_mean(halves: Tensor) -> Tensor:
    """Half-rate clips [B, C, k, 2h, 2w] at the outline network's resolution [B, C, k, h, w]."""
    return F.avg_pool3d(halves, (1, BLOCK_SIZE, BLOCK_SIZE))


def fingerprint(tensors: Iterable[Tensor]) -> str:
    """Digest of weights, for cache keys."""
    digest = hashlib.sha256()
    for value in tensors:
        digest.update(value.float().numpy().tobytes())
    return digest.hexdigest()[:12]


def latent_fingerprint(frozen: FrameAutoencoder) -> str:
    """Digest of the encoder alone: latents do not depend on the decoder."""
    return fingerprint([frozen.patterns, frozen.scale])
