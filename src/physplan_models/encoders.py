"""Text and picture encoders: in memory while they encode, not after (a T5-XXL is as big as the denoiser)."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from physplan.weights import load_model
from physplan_models.single_files import T5_XXL, load_encoder, shape_of


class Encoders:
    """A pipeline's encoders, loaded from its folder or `files` when needed and freed afterwards.

    `classes` names library and class by component, as model_index.json does:
    {"text_encoder": ("transformers", "T5EncoderModel")}.
    """

    NAMES = ("text_encoder", "text_encoder_2", "connectors", "image_encoder")

    def __init__(
        self,
        pipe: Any,
        folder: Path,
        classes: Mapping[str, tuple[str, str]],
        *,
        dtype: torch.dtype,
        device: torch.device,
        keep: bool = False,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        self.pipe, self.folder, self.classes = pipe, folder, classes
        self.dtype, self.device, self.keep = dtype, device, keep
        self.files = files or {}

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """Inside this block the pipeline has its encoders."""
        for name, (library, class_name) in self.classes.items():
            if getattr(self.pipe, name) is None:
                # The picture's encoder is small, and pipelines give it full-precision pixels.
                dtype = torch.float32 if name == "image_encoder" else self.dtype
                setattr(self.pipe, name, self._load(name, library, class_name, dtype).to(self.device))
        try:
            yield
        finally:
            if not self.keep:
                self.free()

    def _load(self, name: str, library: str, class_name: str, dtype: torch.dtype) -> Any:
        if name not in self.files:
            return load_model(_class(library, class_name), self.folder / name, dtype=dtype)
        known = {name: (class_name, T5_XXL)} if class_name == "T5EncoderModel" else {}
        _, config = shape_of(name, self.folder, known)
        return load_encoder(self.files[name], class_name, config, dtype=dtype)

    def free(self) -> None:
        for name in self.classes:
            setattr(self.pipe, name, None)
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def _class(library: str, name: str) -> Any:
    """From transformers, or from the pipeline's own package in diffusers: nothing else is asked."""
    return getattr(
        importlib.import_module(
            "transformers" if library == "transformers" else f"diffusers.pipelines.{library}"
        ),
        name,
    )
