"""Trains the copier on frames as the decoder paints them: from all channels, from borrowed ones with noise,
and from what the video model makes of a clip that was half lost in noise."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from tqdm import tqdm

from physplan.files import atomic_path
from physplan.sandbox.models.autoencoder import GROUP, FrameGroupAutoencoder
from physplan.sandbox.models.copying import CELL, PictureCopier, sample
from physplan.sandbox.train.data import training_clip
from physplan.sandbox.train.loop import TrainConfig, train
from physplan.sandbox.video import SIZE, SandboxCodec, SandboxVideo
from physplan.sandbox.world.render import FRAMES, Clip

CONFIG = TrainConfig(steps=6000, learning_rate=1e-3, batch=16, weight_decay=1e-4, ema=0.998, bf16=True)
CLIPS = 2400
CHUNK = 40  # clips per file
SHOWN = 6  # frames of a clip
LEFT = 0.4  # the most noise, in units of what moves
STEPS = 10  # of the video model from pure noise; a clip is taken up in the middle
MOVED = 0.06  # of the range from -1 to 1
SHARP = 0.03  # of the range from -1 to 1: a layer that is nearer by so much is the one to take
FARTHEST = 8.0  # pixels by which a source may be wrong before it counts no more


def cache_frames_as_painted(folder: Path, weights: Path, clips: int, *, workers: int = 2) -> list[Path]:
    """Files of frames, what was painted for them, and where their pixels were; those that exist are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"painted-{k:03d}.npz" for k in range(-(-clips // CHUNK))]
    jobs = [(str(weights), str(path), k) for k, path in enumerate(files) if not path.exists()]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(tqdm(pool.map(_cache_chunk, jobs), total=len(jobs), desc="painting clips"))
    return files


def _cache_chunk(job: tuple[str, str, int]) -> None:
    weights, path, k = job
    found = [paint_clip(_load(weights), index) for index in range(k * CHUNK, (k + 1) * CHUNK)]
    with atomic_path(Path(path)) as temporary, temporary.open("wb") as file:
        arrays: dict[str, Any] = {name: np.concatenate([f[name] for f in found]) for name in found[0]}
        np.savez(file, **arrays)


@cache
def _load(weights: str) -> SandboxVideo:
    torch.set_num_threads(1)
    return SandboxVideo.from_pretrained(weights)


@torch.no_grad()
def paint_clip(model: SandboxVideo, index: int) -> dict[str, NDArray]:
    """Of one training clip the frames where most moves, [n, ...] each: the truth, the three ways in which it
    was painted, the picture as it is decoded, and sources in sixteenths of a pixel (-1 for none)."""
    clip, prompt = training_clip(index)
    rng = np.random.default_rng([11, index])
    chosen = busy_frames(clip, rng)
    video = torch.from_numpy(clip.frames).permute(3, 0, 1, 2)[None].float() / 127.5 - 1.0
    autoencoder = autoencoder_of(model)
    latents = autoencoder.encode(video)
    noisy = latents + rng.uniform(0, LEFT) * torch.randn(latents.shape, generator=_generator(index))
    made = model_makes(model, clip, prompt, latents, rng, index)
    ways = [latents, autoencoder.borrow(noisy, latents[:, :, :1]), made]
    painted = torch.stack(
        [autoencoder.decode(way)[0][:, chosen] for way in ways], dim=1
    )  # [3, ways, n, H, W]
    picture = autoencoder.decode(latents[:, :, :1])[0]
    sources = clip.sources[chosen]
    sources = np.where(was_seen(clip, chosen)[..., None], np.rint(16 * sources), -1)
    return {
        "truth": clip.frames[chosen],
        "painted": _to_bytes(painted.permute(2, 1, 3, 4, 0)),
        "picture": _to_bytes(picture.permute(1, 2, 3, 0)).repeat(len(chosen), axis=0),
        "sources": sources.astype(np.int16),
    }


def model_makes(
    model: SandboxVideo, clip: Clip, prompt: str, latents: Tensor, rng: np.random.Generator, seed: int
) -> Tensor:
    """The clip's latents, lost in noise to some level and found again by the video model."""
    conditioning = model.prepare(
        image=Image.fromarray(clip.frames[0]),
        prompt=prompt,
        height=SIZE,
        width=SIZE,
        num_frames=FRAMES,
        num_inference_steps=STEPS,
        guidance_scale=1.0,
        generator=_generator(seed),
    )
    start = int(rng.integers(STEPS // 2, STEPS))
    noise = conditioning.noise
    found = noise.alpha(start) * latents + noise.sigma(start) * torch.randn(
        latents.shape, generator=_generator(seed + 1)
    )
    for n in range(start, STEPS):
        found = noise.step(found, model.predict(found, n, conditioning), n)
    return found


def busy_frames(clip: Clip, rng: np.random.Generator) -> NDArray[np.int64]:
    moved = np.abs(clip.frames.astype(np.int16) - clip.frames[:1]).max(axis=-1) > 127.5 * MOVED
    chance = moved.mean(axis=(1, 2)) + 0.002
    chance[0] = 1e-9
    return np.sort(rng.choice(FRAMES, SHOWN, replace=False, p=chance / chance.sum()))


def was_seen(clip: Clip, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether frame 0 shows, at its source, the object that a pixel shows."""
    at = np.rint(clip.sources[chosen]).astype(int)
    inside = ((at >= 0) & (at < clip.objects.shape[-1])).all(axis=-1)
    column, row = np.clip(at, 0, clip.objects.shape[-1] - 1).transpose(3, 0, 1, 2)
    return inside & (clip.objects[0][row, column] == clip.objects[chosen])


def copying_loss(model: PictureCopier, batch: dict[str, Tensor]) -> Tensor:
    """Error of the frames, five times as much where pixels differ from the picture; of the sources of what
    has moved, by cell and by pixel; and of the shares, which should choose the nearest layer, not mix."""
    truth, picture = batch["truth"], batch["picture"]
    found, sources, logits, shares = model.explain(batch["painted"], picture)
    error = found - truth
    moved = ((truth - picture).abs().amax(dim=1, keepdim=True) > 2 * MOVED).float()
    seen = (1.0 + 4.0 * moved) * (4.0 * error.square() + 0.2 * error.abs())
    known = batch["known"]  # [B, 1, H, W]: what was in the picture elsewhere
    off = ((sources - batch["sources"]) / CELL).abs().clamp(max=FARTHEST / CELL)
    by_pixel = (off * known).sum() / known.sum().clamp(min=1)
    middle = CELL // 2
    cells = known[:, 0, middle::CELL, middle::CELL].flatten(1) > 0
    target = (batch["sources"][..., middle::CELL, middle::CELL] / CELL).long().clamp(0, SIZE // CELL - 1)
    index = (target[:, 1] * (SIZE // CELL) + target[:, 0]).flatten(1)
    by_cell = F.cross_entropy(logits[cells], index[cells]) if cells.any() else logits.sum() * 0
    layers = torch.stack([picture, sample(picture, sources.detach()), batch["painted"]], dim=1)
    near = (-(layers - truth[:, None]).abs().mean(dim=2) / SHARP).softmax(dim=1)
    choice = -(near * shares.clamp(min=1e-4).log()).sum(dim=1, keepdim=True)
    by_choice = (choice * (0.1 + moved)).sum() / (0.1 + moved).sum()
    return seen.mean() + 0.02 * by_pixel + 0.02 * by_cell + 0.02 * by_choice


class Store:
    """What was cached so far."""

    def __init__(self, files: list[Path]) -> None:
        parts = [np.load(path) for path in files if path.exists()]
        self.arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}

    def batch(self, size: int, rng: np.random.Generator) -> dict[str, Tensor]:
        """Mirrored half of the time, in other colours and other light now and then."""
        chosen = rng.choice(len(self.arrays["truth"]), size)
        way = rng.choice(3, size, p=[0.25, 0.3, 0.45])
        pixels = [
            self.arrays["truth"][chosen],
            self.arrays["painted"][chosen, way],
            self.arrays["picture"][chosen],
        ]
        sources = self.arrays["sources"][chosen].astype(np.float32)
        for k in range(size):
            if rng.random() < 0.5:
                for array in pixels:
                    array[k] = array[k, :, ::-1]
                columns = sources[k, ..., :1]
                sources[k, ..., :1] = np.where(columns >= 0, 16 * (SIZE - 1) - columns, -1)
                sources[k] = sources[k, :, ::-1]
            if rng.random() < 0.5:
                order = rng.permutation(3)
                for array in pixels:
                    array[k] = array[k][..., order]
        seen = [torch.from_numpy(array).permute(0, 3, 1, 2).float() / 127.5 - 1.0 for array in pixels]
        where = torch.from_numpy(sources).permute(0, 3, 1, 2)
        known = (where >= 0).all(dim=1, keepdim=True)
        where = where / 16
        y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        elsewhere = (where - torch.stack([x, y])[None]).abs().amax(dim=1, keepdim=True) > 0.5
        known = (known & elsewhere).float()
        named = dict(zip(("truth", "painted", "picture"), seen, strict=True))
        return {**named, "sources": where, "known": known}


def run(
    folder: Path, weights: Path, *, config: TrainConfig = CONFIG, clips: int = CLIPS, go_on: bool = False
) -> tuple[FrameGroupAutoencoder, dict]:
    """The autoencoder of the video model in `weights`, with a new copier or with its own trained further."""
    store = Store(cache_frames_as_painted(folder, weights, clips))
    torch.manual_seed(config.seed)
    autoencoder = FrameGroupAutoencoder.from_pretrained(weights / "autoencoder", torch_dtype=torch.float32)
    if autoencoder.copier is None or not go_on:
        autoencoder.add_copier()
    model = autoencoder.copier
    assert model is not None
    nn.Module.to(model, memory_format=torch.channels_last)  # type: ignore[call-overload]

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        return copying_loss(model, store.batch(config.batch, rng))

    return autoencoder, train(model, loss_at, config, folder, name="copier")


def _painted(model: SandboxVideo, latents: Tensor) -> Tensor:
    """[3, F, H, W] by the decoder alone."""
    return autoencoder_of(model).paint(latents)[0][:, GROUP - 1 :]


def autoencoder_of(model: SandboxVideo) -> FrameGroupAutoencoder:
    assert isinstance(model.codec, SandboxCodec)
    return model.codec.autoencoder


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _to_bytes(values: Tensor) -> NDArray[np.uint8]:
    return ((values.float() + 1.0) * 127.5).clamp(0, 255).round().byte().numpy()
