"""Faults for `physplan accept`, one at a time: in files where they would lie in files, else in the code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from accepting import rewrite, spoilt
from safetensors.torch import load_file, save_file

from physplan.video.base import FamilyModel
from physplan_bench.accept import guided_stage, perception_stage
from physplan_testing import tiny_models

Recipe = dict[str, Any]
Plant = Callable[[Recipe, Path, pytest.MonkeyPatch], Recipe | None]


@dataclass(frozen=True)
class Fault:
    stage: int  # that finds it
    finding: str  # its name there
    plant: Plant  # gives the recipe with the fault; None: it lies in the code


FAULTS: dict[str, Fault] = {}


def fault(name: str, stage: int, finding: str) -> Callable[[Plant], Plant]:
    def keep(plant: Plant) -> Plant:
        FAULTS[name] = Fault(stage, finding, plant)
        return plant

    return keep


def in_config(name: str, stage: int, finding: str, part: str, **changes: Any) -> None:
    """A fault in the config of a part of the video model."""

    @fault(name, stage, finding)
    def plant(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
        recipe, copy = spoilt(recipe, folder)
        file = "scheduler_config.json" if part == "scheduler" else "config.json"
        rewrite(copy / part / file, **changes)
        return recipe


in_config("wrong scaling factor", 1, "vae.scaling_factor", "vae", scaling_factor=0.18215)
in_config("channels that do not fit", 1, "latent channels", "transformer", out_channels=7)
in_config("text of another width", 1, "text width", "transformer", text_embed_dim=48)
in_config("other scheduler", 1, "scheduler", "scheduler", _class_name="PNDMScheduler")
in_config("another prediction", 1, "scheduler", "scheduler", prediction_type="epsilon")


@fault("swapped mean and deviation", 1, "vae.latents_std")
def swap(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    wan = tiny_models.build("wan22_5b", folder / "wan22_5b")
    recipe, copy = spoilt(
        recipe | {"video": {**recipe["video"], "model": "wan2.2-5b", "source": str(wan)}}, folder
    )
    config = copy / "vae" / "config.json"
    known = json.loads(config.read_text())
    rewrite(config, latents_mean=known["latents_std"], latents_std=known["latents_mean"])
    return recipe


@fault("another revision", 1, "revision")
def ask_for_another(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    return recipe | {"video": recipe["video"] | {"revision": "0" * 40}}


@fault("weights cut off", 1, "weight files are whole")
def cut_off(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    recipe, copy = spoilt(recipe, folder)
    file = next((copy / "vae").glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-100])
    return recipe


@fault("a byte that flipped", 1, "weight files are whole")
def flip(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    """As in the hub's store: a link to a file that is named by the content it should have."""
    recipe, copy = spoilt(recipe, folder)
    file = next((copy / "vae").glob("*.safetensors"))
    content = bytearray(file.read_bytes())
    blob = folder / hashlib.sha256(content).hexdigest()
    content[-1] ^= 1
    blob.write_bytes(content)
    file.unlink()
    file.symlink_to(blob)
    return recipe


@fault("no weights for the segmenter", 1, "weights of the segmenter")
def lose_segmenter(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    lost = {"name": "sam-3", "options": {"source": "nobody/none"}}
    return recipe | {"perception": recipe["perception"] | {"segmenter": lost}}


@fault("overflow", 2, "latents are finite")
def overflow(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    recipe, copy = spoilt(recipe, folder)
    file = next((copy / "transformer").glob("*.safetensors"))
    save_file({name: one * 1e30 for name, one in load_file(file).items()}, file)
    return recipe


@fault("a sampler that departs", 2, "latents off the library's pipeline, share of their norm")
def depart(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    kept = FamilyModel.predict
    patch.setattr(FamilyModel, "predict", lambda self, z, n, c, **more: 1.05 * kept(self, z, n, c, **more))


@fault("runs that differ", 2, "two runs of one seed apart, share of their norm")
def differ(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    kept = FamilyModel.predict

    def predict(self: FamilyModel, z: torch.Tensor, *arguments: Any, **more: Any) -> torch.Tensor:
        found: torch.Tensor = kept(self, z, *arguments, **more)
        return found + 0.01 * torch.randn_like(found)

    patch.setattr(FamilyModel, "predict", predict)


@fault("a decoder that breaks", 2, "stage")
def break_decoder(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    def decode(self: FamilyModel, *arguments: Any, **more: Any) -> Any:
        raise RuntimeError("expected scalar type BFloat16 but found Float")

    patch.setattr(FamilyModel, "decode", decode)


@fault("a window shifted by one", 2, "previews show their own frame")
def shift(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    def decode_window(self: FamilyModel, latents: torch.Tensor, window: Any) -> torch.Tensor:
        clip = self.codec.decode(latents)
        return clip[window.index - (1 + self.codec.temporal_ratio * (window.length - 1)) - 1]

    patch.setattr(FamilyModel, "decode_window", decode_window)


@fault("tiles under gradient", 2, "previews are decoded whole")
def tile(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    whole = FamilyModel.decode_window

    def decode_window(self: FamilyModel, latents: torch.Tensor, window: Any) -> torch.Tensor:
        self.codec.vae.use_tiling = True  # type: ignore[attr-defined]
        return whole(self, latents, window)

    patch.setattr(FamilyModel, "decode_window", decode_window)


def in_what_is_seen(patch: pytest.MonkeyPatch, backend: str, wrong: Callable[..., torch.Tensor]) -> None:
    seen = perception_stage._seen

    def look(here: Any, name: str, image: torch.Tensor) -> Any:
        here.pp.backends.__dict__[backend] = wrong
        return seen(here, name, image)

    patch.setattr(perception_stage, "_seen", look)


@fault("flat depth", 3, "coffee: depth")
def flatten(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    in_what_is_seen(patch, "depth", lambda images: torch.zeros(len(images), *images.shape[-2:]))


@fault("features that are no numbers", 3, "chelsea: features")
def blind(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    in_what_is_seen(patch, "encoder", lambda images: torch.full((len(images), 4, 8, 8), float("nan")))


@fault("a gradient that overflows", 4, "gradient is finite")
def overflow_gradient(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    kept = guided_stage.direction

    def direction(*arguments: Any, **more: Any) -> Any:
        found = kept(*arguments, **more)
        found.gradient.fill_(float("inf"))
        return found

    patch.setattr(guided_stage, "direction", direction)


@fault("a step that is far too long", 4, "step, share of the latent's norm")
def lengthen(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> Recipe:
    return recipe | {"guidance": recipe["guidance"] | {"step_size": 1e4}}


@fault("a video of one colour", 5, "sketch: video")
def grey(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    kept = FamilyModel.decode
    patch.setattr(
        FamilyModel, "decode", lambda self, z, layout, **more: 0 * kept(self, z, layout, **more) + 0.5
    )


@fault("a key that is refused", 6, "one plan")
def change_key(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("GEMINI_API_KEY", "another-key-altogether")


@fault("a service that talks", 6, "one plan")
def talk(recipe: Recipe, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """The loopback server of the test answers in prose."""
