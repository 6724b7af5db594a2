"""Feature extractors for FID and FVD: frames or clips (N, ..., H, W, 3) uint8 to features (N, D)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.errors import PhysPlanError
from physplan.perception.images import normalise
from physplan.weights import load_model
from physplan_bench.frechet.inception import InceptionV3
from physplan_bench.pixels import IMAGENET, centre_crop, resize_shorter, stacked, to_numpy


class InceptionFeatures:
    """The 2048 pooled features of the FID network, from its usual weights file."""

    def __init__(self, weights: Path, *, device: str = "cpu") -> None:
        self._model = InceptionV3.from_file(weights).to(device)
        self._device = device
        self.name = f"inception-v3:{weights.name}"

    @torch.no_grad()
    def __call__(self, frames: np.ndarray) -> np.ndarray:
        images = F.interpolate(stacked(frames), size=(299, 299), mode="bilinear", align_corners=False)
        return to_numpy(self._model(images.to(self._device) / 127.5 - 1))


class Dinov2Features:
    """The class token of DINOv2: a reference that agrees better with people than Inception does."""

    def __init__(self, source: str, *, device: str = "cpu") -> None:
        from transformers import Dinov2Model

        self._model = load_model(Dinov2Model, source).to(device)
        self._device = device
        self.name = f"dinov2:{source}"

    @torch.no_grad()
    def __call__(self, frames: np.ndarray) -> np.ndarray:
        images = F.interpolate(stacked(frames), size=(224, 224), mode="bicubic", align_corners=False)
        states = self._model(normalise(images.to(self._device) / 255, IMAGENET)).last_hidden_state
        return to_numpy(states[:, 0])


class VideoMAEFeatures:
    """Content-debiased FVD: VideoMAE features, before its classifier, of one clip of frames.

    Shorter side 256, centre 224, as far as the model's own size is 224 (in proportion otherwise).
    """

    def __init__(self, source: str, *, device: str = "cpu") -> None:
        from transformers import VideoMAEForVideoClassification

        self._model = load_model(VideoMAEForVideoClassification, source).to(device)
        self._device = device
        self.frames = int(self._model.config.num_frames)
        self.name = f"videomae:{source}"

    @torch.no_grad()
    def __call__(self, clips: np.ndarray) -> np.ndarray:
        return np.concatenate([self._one(clip) for clip in clips])

    def _one(self, clip: np.ndarray) -> np.ndarray:
        side = self._model.config.image_size
        images = resize_shorter(stacked(clip), side * 256 // 224, antialias=True)
        pixels = normalise(centre_crop(images, side) / 255, IMAGENET).to(self._device)
        return to_numpy(self._pool(self._model.videomae(pixels[None]).last_hidden_state))

    def _pool(self, states: Tensor) -> Tensor:
        """What the classifier sees: the normalised mean over all tokens, or the first one."""
        norm = self._model.fc_norm
        return norm(states.mean(1)) if norm is not None else states[:, 0]


def load_extractor(spec: str, *, kind: str) -> Any:
    """`inception:FILE`, `dinov2:MODEL`, `videomae:MODEL`, or `module:function` that returns an extractor."""
    name, _, rest = spec.partition(":")
    if kind == "frame" and name == "inception" and rest:
        return InceptionFeatures(Path(rest))
    if kind == "frame" and name == "dinov2" and rest:
        return Dinov2Features(rest)
    if kind == "clip" and name == "videomae" and rest:
        return VideoMAEFeatures(rest)
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec):
        try:
            return getattr(importlib.import_module(name), rest)()
        except (ImportError, AttributeError) as error:
            raise PhysPlanError(f"The extractor {spec} cannot be loaded ({error}).") from error
    known = "inception:FILE, dinov2:MODEL" if kind == "frame" else "videomae:MODEL"
    raise PhysPlanError(f"{spec!r} names no {kind} extractor: give {known}, or module:function of your own.")
