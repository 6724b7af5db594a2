"""Models behind the dimensions: a measure is a function from a video and its frame rate to a value in [0, 1].

DINO and CLIP are real classes of transformers. AMT-S, RAFT and MUSIQ are in no library that installs here:
give your own as `module:function`, which loads one and returns a measure. `dimensions` has the maths.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.perception.images import normalise
from physplan.weights import load_model
from physplan_bench.pixels import CLIP, IMAGENET, centre_crop, resize_shorter, stacked, to_numpy
from physplan_bench.vbench import dimensions

Measure = Callable[[np.ndarray, float], float]  # (video, fps) -> value
BATCH_SIZE = 16


class DinoFeatures:
    """The class token of a DINO ViT; the shorter side becomes 224, the aspect ratio stays."""

    def __init__(self, source: str, *, side: int = 224, device: str = "cpu") -> None:
        from transformers import ViTModel

        self._model = load_model(ViTModel, source, add_pooling_layer=False).to(device)
        self._side, self._device = side, device

    @torch.no_grad()
    def __call__(self, frames: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        images = normalise(resize_shorter(stacked(frames), self._side) / 255, IMAGENET)
        states = self._model(images.to(self._device), interpolate_pos_encoding=True).last_hidden_state
        return to_numpy(states[:, 0])


class ClipFeatures:
    """The projected image embedding of a CLIP model."""

    def __init__(self, source: str, *, device: str = "cpu") -> None:
        from transformers import CLIPModel

        self._model = load_model(CLIPModel, source).to(device)
        self._device = device

    @torch.no_grad()
    def __call__(self, frames: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        side = self._model.config.vision_config.image_size
        images = resize_shorter(stacked(frames), side, mode="bicubic")  # not rounded, as VBench does it
        pixels = normalise(centre_crop(images, side, to_even=True) / 255, CLIP)
        output = self._model.get_image_features(pixel_values=pixels.to(self._device))
        return to_numpy(output if isinstance(output, Tensor) else output.pooler_output)


class AestheticHead:
    """LAION's linear head on normalised CLIP features."""

    def __init__(self, source: str, head: Path, *, device: str = "cpu") -> None:
        self._features = ClipFeatures(source, device=device)
        weights = _load_linear(head)
        self._weight, self._bias = weights["weight"].numpy(), weights["bias"].numpy()

    def __call__(self, frames: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        features = self._features(frames)
        unit = features / np.linalg.norm(features, axis=1, keepdims=True)
        if unit.shape[1] != self._weight.shape[1]:
            raise PhysPlanError(
                f"The aesthetic head takes {self._weight.shape[1]} features; this CLIP model gives "
                f"{unit.shape[1]}."
            )
        return np.asarray((unit @ self._weight.T + self._bias)[:, 0])


def make_measure(dimension: str, spec: str) -> Measure:
    """A measure for a dimension, from a model, a model and a head, or module:function."""
    match dimension:
        case "temporal_flickering":
            return lambda video, fps: dimensions.temporal_flickering(video)
        case "subject_consistency" if not _is_plugin(spec):
            dino = DinoFeatures(spec)
            return lambda video, fps: dimensions.consistency(in_batches(dino, video))
        case "background_consistency" if not _is_plugin(spec):
            clip = ClipFeatures(spec)
            return lambda video, fps: dimensions.consistency(in_batches(clip, video))
        case "aesthetic_quality" if not _is_plugin(spec):
            source, comma, head = spec.partition(",")
            if not comma:
                raise PhysPlanError(
                    "aesthetic_quality needs a CLIP model and a head: --use aesthetic_quality=MODEL,HEAD"
                )
            laion = AestheticHead(source, Path(head))
            return lambda video, fps: dimensions.aesthetic_quality(in_batches(laion, video))
    return load_plugin(dimension, spec)


def in_batches(extract: Callable[[np.ndarray], np.ndarray], video: np.ndarray) -> np.ndarray:
    return np.concatenate([extract(video[i : i + BATCH_SIZE]) for i in range(0, len(video), BATCH_SIZE)])


def load_plugin(dimension: str, spec: str) -> Measure:
    if not _is_plugin(spec):
        raise PhysPlanError(
            f"{dimension} has no model of its own here: give --use {dimension}=module:function, a function "
            "that returns a measure (see docs/evaluation.md), or its value in a result file with --results."
        )
    module, _, attribute = spec.partition(":")
    try:
        measure = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise PhysPlanError(f"--use {dimension}={spec} cannot be loaded ({error}).") from error
    return measure  # type: ignore[no-any-return]


def _is_plugin(spec: str) -> bool:
    module, colon, attribute = spec.partition(":")
    return bool(colon) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _load_linear(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            weights: dict[str, Any] = load_file(path)
        else:
            weights = torch.load(path, map_location="cpu", weights_only=True)
        return {"weight": weights["weight"], "bias": weights["bias"]}
    except Exception as error:
        raise PhysPlanError(f"{path} is not a linear head with weight and bias ({error}).") from error
