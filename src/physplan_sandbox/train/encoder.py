"""Train the feature encoder so that cosine similarity localises objects (eq. 4-5) and tells states apart.

An object's reference is the mean feature over its pixels in one view, as in guidance. The loss asks that its
occupancy in another view equals the object's mask, and that no other object responds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import Dinov2Config, Dinov2Model

from physplan.perception.images import normalise
from physplan_sandbox.train.labelled_pictures import MAX_OBJECTS, Pictures, augment, cache_pictures
from physplan_sandbox.train.loop import TrainConfig, train
from physplan_sandbox.world.categories import CATEGORIES

CONFIG = TrainConfig(steps=1500, learning_rate=1.5e-3, batch=8, weight_decay=0.01, ema=0.997)
PATCH_SIZE = 4
THRESHOLD, TEMPERATURE = 0.5, 0.1  # b and tau of eq. 4, as the guidance uses them


def build_encoder() -> Dinov2Model:
    return Dinov2Model(
        Dinov2Config(
            hidden_size=64,
            num_hidden_layers=3,
            num_attention_heads=2,
            mlp_ratio=2,
            image_size=96,
            patch_size=PATCH_SIZE,
            layerscale_value=1.0,
            drop_path_rate=0.0,
            attn_implementation="sdpa",
        )
    )


class Heads(torch.nn.Module):
    """Auxiliary heads on features: category and state."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.category = torch.nn.Linear(width, len(CATEGORIES))
        self.state = torch.nn.Linear(width, 6)


def feature_map(encoder: Dinov2Model, images: Tensor) -> Tensor:
    """Unit features [B, C, h, w]."""
    tokens = encoder(normalise(images)).last_hidden_state[:, 1:]
    side = images.shape[-1] // PATCH_SIZE
    return F.normalize(tokens.transpose(1, 2).unflatten(2, (side, side)), dim=1)


def coverage(objects: np.ndarray) -> Tensor:
    """[B, OBJECTS, h, w]: the share of each patch that each object covers."""
    one_hot = F.one_hot(torch.from_numpy(objects.astype(np.int64)), MAX_OBJECTS).permute(0, 3, 1, 2).float()
    return F.avg_pool2d(one_hot, PATCH_SIZE)


def references(features: Tensor, cover: Tensor) -> tuple[Tensor, Tensor]:
    """Mean features [B, OBJECTS, C] over the patches that an object fills, and which objects fill any."""
    inside = (cover > 0.5).float()
    inside = torch.where(inside.sum(dim=(2, 3), keepdim=True) > 0, inside, cover * (cover > 0.2))
    count = inside.sum(dim=(2, 3))
    mean = torch.einsum("bohw,bchw->boc", inside, features) / count.clamp(min=1e-6).unsqueeze(-1)
    return F.normalize(mean, dim=-1), count > 0


def encoder_loss(
    encoder: Dinov2Model,
    heads: Heads,
    views: tuple[Tensor, Tensor],
    cover: tuple[Tensor, Tensor],
    category: Tensor,
    state: tuple[Tensor, Tensor],
) -> Tensor:
    """`views` are two frames of each clip; `cover`, `state` belong to them; `category` [B, OBJECTS]."""
    first, second = (feature_map(encoder, v) for v in views)
    wanted, known = references(first, cover[0])
    alike = (state[0] - state[1]).abs().amax(dim=-1) < 0.12  # the same look in both frames
    located = torch.einsum("boc,bchw->bohw", wanted, second)
    here = cover[1].amax(dim=(2, 3)) > 0.5
    answerable = known & (alike | ~here)  # an object that is not there must not be found
    occupancy = _occupancy_loss(located, cover[1], answerable)
    own = torch.einsum("boc,bchw->bohw", wanted, first)
    occupancy = occupancy + _occupancy_loss(own, cover[0], known)
    contrast = _contrast(wanted, second, cover[1], known, answerable & here, category, state)
    return occupancy + 0.25 * contrast + 0.5 * _readings(heads, first, cover[0], category, state[0])


def _occupancy_loss(similarity: Tensor, cover: Tensor, valid: Tensor) -> Tensor:
    """Cross-entropy of eq. 4 against the mask plus one minus their soft overlap, per object."""
    soft = ((similarity - THRESHOLD) / TEMPERATURE).clamp(-12, 12)
    size = cover.sum(dim=(2, 3), keepdim=True)
    weight = torch.where(cover > 0.5, (0.5 * cover[0, 0].numel() / size.clamp(min=4.0)).clamp(1.0, 12.0), 1.0)
    entropy = (F.binary_cross_entropy_with_logits(soft, cover, reduction="none") * weight).mean(dim=(2, 3))
    filled = soft.sigmoid()
    overlap = 1.0 - (2 * (filled * cover).sum(dim=(2, 3)) + 1) / (
        filled.sum(dim=(2, 3)) + size[..., 0, 0] + 1
    )
    loss = entropy + overlap
    return loss[valid].mean()


def _contrast(
    wanted: Tensor,
    features: Tensor,
    cover: Tensor,
    known: Tensor,
    positive: Tensor,
    category: Tensor,
    state: tuple[Tensor, Tensor],
) -> Tensor:
    """Among all objects of the batch a patch must answer to its own; twins of it are left out."""
    places = category.shape[1]
    bank, valid = wanted.flatten(0, 1), known.flatten()
    inside = (cover > 0.6) & positive[:, :, None, None]
    b, o, y, x = inside.nonzero(as_tuple=True)
    if not len(b):
        return features.sum() * 0.0
    pick = torch.randperm(len(b))[:512]
    b, o, y, x = b[pick], o[pick], y[pick], x[pick]
    logits = features[b, :, y, x] @ bank.T / 0.1
    target = b * places + o
    kinds, looks = category.flatten(), state[0].flatten(0, 1)
    mine = state[1][b, o]
    twins = (kinds[target][:, None] == kinds[None]) & ((mine[:, None] - looks[None]).abs().amax(-1) < 0.2)
    twins[torch.arange(len(target)), target] = False
    logits = logits.masked_fill(twins | ~valid[None], -1e4)
    return F.cross_entropy(logits, target)


def _readings(heads: Heads, features: Tensor, cover: Tensor, category: Tensor, state: Tensor) -> Tensor:
    inside = cover > 0.6
    b, o, y, x = inside.nonzero(as_tuple=True)
    found = features[b, :, y, x]
    named = F.cross_entropy(heads.category(found), category[b, o])
    things = o > 1
    error = (heads.state(found) - state[b, o])[things].abs()
    return named + error.mean()


def run(
    folder: Path, *, config: TrainConfig = CONFIG, clips: int = 5000, start: Path | None = None
) -> tuple[Dinov2Model, dict]:
    """From nothing, or from the weights in `start`."""
    pictures = cache_pictures(folder, clips)
    torch.manual_seed(config.seed)
    encoder = build_encoder() if start is None else Dinov2Model.from_pretrained(start, dtype=torch.float32)
    model = torch.nn.ModuleDict({"encoder": encoder, "heads": Heads()})

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        return encoder_loss(model["encoder"], model["heads"], *batch_of(pictures, config.batch, rng))  # type: ignore[arg-type]

    figures = train(model, loss_at, config, folder, name="encoder")
    return model["encoder"], figures


def batch_of(pictures: Pictures, size: int, rng: np.random.Generator) -> tuple:
    """Half of the pairs are two frames of a clip, half two views of one frame."""
    chosen = rng.integers(len(pictures.frames), size=size)
    first = rng.integers(2, size=size)
    second = np.where(rng.random(size) < 0.5, first, 1 - first)
    views, covers, states = [], [], []
    for which in (first, second):
        images = torch.from_numpy(pictures.frames[chosen, which]).permute(0, 3, 1, 2).float() / 255.0
        views.append(augment(images, rng))
        covers.append(coverage(pictures.objects[chosen, which]))
        states.append(torch.from_numpy(pictures.state[chosen, which].astype(np.float32))[..., :6])
    category = torch.from_numpy(pictures.category[chosen].astype(np.int64))
    return tuple(views), tuple(covers), category, tuple(states)
