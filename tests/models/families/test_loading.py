"""Loading as a user does it: precision, tiles, offload, encoders, and one sentence when it cannot be done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL.Image import Image
from safetensors.torch import load_file, save_file

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.protocol import VideoModel
from physplan.video.sampling import sample
from physplan_models.families import FAMILIES, family_of
from physplan_models.loading import LoadOptions, load_video_model
from physplan_testing.tiny_models import NAMES, prepare

Load = Callable[..., FamilyModel]


@pytest.mark.parametrize("name", NAMES)
def test_every_family_follows_the_protocol_and_is_frozen(name: str, load: Load) -> None:
    model = load(name)
    assert isinstance(model, VideoModel)
    assert not any(p.requires_grad for p in model.denoiser.parameters())
    assert not model.denoiser.training


@pytest.mark.parametrize("name", ["cogvideox", "wan", "ltx", "ltx2", "hunyuan15", "svd"])
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_half_precision_stays_near_full_precision(name: str, dtype: str, load: Load, picture: Image) -> None:
    full, half = load(name), load(name, dtype=dtype)
    exact, rounded = (prepare(model, picture, guidance_scale=1.0) for model in (full, half))
    assert half.dtype != torch.float32
    assert rounded.latents.dtype == torch.float32, "latents are float32 whatever the weights are"
    with torch.no_grad():
        wanted, found = full.predict(exact.latents, 1, exact), half.predict(exact.latents, 1, rounded)
        video = half.decode(found, rounded.layout)
    assert found.dtype == video.dtype == torch.float32
    assert (wanted - found).abs().mean() < 0.05 * wanted.abs().mean()


@pytest.mark.parametrize("name", ["cogvideox", "wan", "ltx", "ltx2", "hunyuan15"])
def test_tiling_and_slicing_are_on_when_asked_for(name: str, load: Load, picture: Image) -> None:
    vae = load(name, tiling=True, slicing=True).codec.vae
    assert vae.use_tiling
    assert vae.use_slicing
    assert not load(name).codec.vae.use_tiling


def test_a_tiled_decode_is_for_that_decode_only(load: Load, picture: Image) -> None:
    """Tiles of the tiny model are 48 x 80 pixels."""
    model = load("cogvideox")
    latents = torch.randn(1, model.latent_channels, 3, 8, 12, generator=torch.Generator().manual_seed(0))
    layout = model.check_size(height=64, width=96, num_frames=9)
    whole, tiled = model.decode(latents, layout), model.decode(latents, layout, tiled=True)
    assert whole.shape == tiled.shape == (9, 3, 64, 96)
    assert not torch.equal(whole, tiled), "tiles were used"
    assert not model.codec.vae.use_tiling


def test_encoders_are_freed_after_encoding_and_come_back_when_needed(
    folder: Callable[[str], Path], picture: Image
) -> None:
    model = load_video_model(folder("wan"), LoadOptions(checkpointing=False))
    pipe = model.pipe  # type: ignore[attr-defined]
    assert (pipe.text_encoder, pipe.image_encoder) == (None, None)
    first = prepare(model, picture)
    assert (pipe.text_encoder, pipe.image_encoder) == (None, None)
    again = prepare(model, picture)
    assert torch.equal(first.inputs["text"], again.inputs["text"])


def test_wans_autoencoder_keeps_full_precision(load: Load) -> None:
    assert load("wan", dtype="bf16").codec.vae.dtype == torch.float32
    assert load("cogvideox", dtype="bf16").codec.vae.dtype == torch.bfloat16


def test_a_multistep_scheduler_is_exchanged_for_a_one_step_one(
    folder: Callable[[str], Path], tmp_path: Path, picture: Image
) -> None:
    """Wan is published with UniPC, whose steps depend on those before; its shift is kept."""
    copy = Path(shutil.copytree(folder("wan22"), tmp_path / "wan"))
    index = json.loads((copy / "model_index.json").read_text())
    index["scheduler"] = ["diffusers", "UniPCMultistepScheduler"]
    (copy / "model_index.json").write_text(json.dumps(index))
    published = {
        "_class_name": "UniPCMultistepScheduler", "flow_shift": 5.0, "use_flow_sigmas": True,
        "prediction_type": "flow_prediction", "num_train_timesteps": 1000,
    }  # fmt: skip
    (copy / "scheduler" / "scheduler_config.json").write_text(json.dumps(published))
    model = load_video_model(copy)
    scheduler = model.pipe.scheduler  # type: ignore[attr-defined]
    assert type(scheduler).__name__ == "FlowMatchEulerDiscreteScheduler"
    assert scheduler.config.shift == 5.0
    assert torch.isfinite(sample(model, prepare(model, picture))).all()


@pytest.mark.parametrize(
    ("name", "published"), [("wan22_5b", "WanPipeline"), ("ltx", "LTXPipeline"), ("ltx2", "LTX2Pipeline")]
)
def test_a_model_published_under_its_text_to_video_name_loads(
    name: str, published: str, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folder(name), tmp_path / name))
    index = json.loads((copy / "model_index.json").read_text())
    index = {k: v for k, v in index.items() if k not in ("image_encoder", "image_processor")}
    (copy / "model_index.json").write_text(json.dumps({**index, "_class_name": published}))
    assert load_video_model(copy).name == {"wan22_5b": "wan", "ltx2": "ltx-2"}.get(name, name)


def broken(folder: Path, tmp_path: Path, change: Callable[[Path], None]) -> Path:
    copy = Path(shutil.copytree(folder, tmp_path / "model"))
    change(copy)
    return copy


def only_pickles(copy: Path) -> None:
    weights = next((copy / "transformer").glob("*.safetensors"))
    weights.rename(weights.with_suffix(".bin"))


def text_to_video(copy: Path) -> None:
    index = json.loads((copy / "model_index.json").read_text())
    (copy / "model_index.json").write_text(json.dumps({**index, "_class_name": "CogVideoXPipeline"}))


def misspelt(copy: Path) -> None:
    index = json.loads((copy / "model_index.json").read_text())
    (copy / "model_index.json").write_text(
        json.dumps({**index, "_class_name": "CogVideoXImage2VideoPipeline"})
    )


def torn_index(copy: Path) -> None:
    (copy / "model_index.json").write_text("{")


def torn_weights(copy: Path) -> None:
    weights = next((copy / "transformer").glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:1000])


def missing_weight(copy: Path) -> None:
    path = next((copy / "transformer").glob("*.safetensors"))
    tensors = load_file(path)
    del tensors["transformer_blocks.0.attn1.to_q.weight"]
    save_file(tensors, path, {"format": "pt"})


def no_autoencoder(copy: Path) -> None:
    shutil.rmtree(copy / "vae")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (only_pickles, r"transformer has its weights as a pickle \(.*\.bin\).*: use a safetensors version"),
        (text_to_video, r"is a CogVideoXPipeline, not an image-to-video model that PhysPlan knows: use"),
        (misspelt, r"PhysPlan knows.*Did you mean 'CogVideoXImageToVideoPipeline'"),
        (torn_index, r"model_index.json is not valid JSON: fetch the model again"),
        (torn_weights, r"does not load \(.*\): fetch it again"),
        (
            missing_weight,
            r"transformer lacks 1 of its weights, such as transformer_blocks.0.attn1.to_q.weight",
        ),
        (no_autoencoder, r"does not load \(.*\): fetch it again"),
    ],
)
def test_a_model_that_cannot_be_used_is_one_sentence(
    change: Callable[[Path], None], message: str, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(PhysPlanError, match=message) as caught:
        load_video_model(broken(folder("cogvideox"), tmp_path, change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("./nowhere", "There is no folder ./nowhere"),
        ("owner/name", r"owner/name is no folder here and could not be fetched from the hub \(.*\): check"),
    ],
)
def test_a_wrong_place_is_one_sentence(source: str, message: str) -> None:
    with pytest.raises(PhysPlanError, match=message) as caught:
        load_video_model(source, LoadOptions(local_files_only=True))
    assert "\n" not in str(caught.value)


def test_an_unknown_family_is_answered_with_the_nearest() -> None:
    with pytest.raises(PhysPlanError, match=r"no video family called 'cogvideo'. Did you mean 'cogvideox'"):
        FAMILIES.load("cogvideo")
    with pytest.raises(PhysPlanError, match=r"No video family loads a WanPipelin. Did you mean 'WanP"):
        family_of("WanPipelin")


def test_a_folder_of_something_else_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match=r"holds no diffusers model \(no model_index.json\)"):
        load_video_model(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "fp8"}, "precision 'fp8' is unknown: use bf16, fp16 or fp32"),
        ({"offload": "model"}, "on the CPU, use offload none"),
        ({"device": "cuda"}, "no CUDA device here"),
        ({"device": "cuda", "offload": "model"}, "no CUDA device here"),
        ({"device": "cuda", "offload": "group"}, "no CUDA device here"),
        ({"device": "mps"}, "device 'mps' is unknown: use cpu, cuda"),
        ({"device": "gpu0"}, "device 'gpu0' is unknown: use cpu, cuda"),
    ],
)
def test_options_that_cannot_be_met_are_one_sentence(
    options: dict[str, Any], message: str, folder: Callable[[str], Path]
) -> None:
    if options.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(PhysPlanError, match=message):
        load_video_model(folder("cogvideox"), LoadOptions(**options))


def test_tiles_that_an_autoencoder_has_not_are_refused(folder: Callable[[str], Path]) -> None:
    with pytest.raises(PhysPlanError, match="autoencoder of svd has no tiling"):
        load_video_model(folder("svd"), LoadOptions(tiling=True))


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("cogvideox", (32, 32, 12), r"8k \+ 1 frames, and 12 is not such a number: use 9 or 17"),
        ("cogvideox", (32, 32, 13), "use 9 or 17"),
        ("wan", (32, 32, 10), r"4k \+ 1 frames.*use 9 or 13"),
        ("ltx", (32, 32, 8), "use 9"),
        ("svd", (32, 32, 1), "at least 2 frames.*use 2"),
        ("cogvideox", (40, 33, 9), "multiples of 16 pixels, not 33x40: use height 32 or 48, width 32 or 48"),
        ("wan22_5b", (32, 16, 9), "multiples of 32 pixels, not 16x32: use width 32"),
    ],
)
def test_sizes_a_model_cannot_take_are_answered_with_the_nearest(
    name: str, size: tuple[int, int, int], message: str, load: Load, picture: Image
) -> None:
    height, width, frames = size
    with pytest.raises(PhysPlanError, match=message):
        prepare(load(name), picture, height=height, width=width, num_frames=frames)


def test_what_a_family_has_not_is_refused_and_not_ignored(load: Load, picture: Image) -> None:
    with pytest.raises(PhysPlanError, match="wan has no dynamic classifier-free guidance"):
        prepare(load("wan"), picture, use_dynamic_cfg=True)
    with pytest.raises(PhysPlanError, match="1 to 1000 steps, not 0"):
        prepare(load("wan"), picture, num_inference_steps=0)


def test_a_model_with_learned_positions_names_its_one_size(
    folder: Callable[[str], Path], tmp_path: Path
) -> None:
    """CogVideoX-5b-I2V is such a model."""
    model = load_video_model(folder("cogvideox"))
    model.denoiser.register_to_config(use_learned_positional_embeddings=True)
    assert model.check_size(height=64, width=64, num_frames=9).num_latents == 3
    with pytest.raises(PhysPlanError, match="use height 64 and width 64, not 32 and 64"):
        model.check_size(height=32, width=64, num_frames=9)


def test_another_scheduler_is_not_exchanged_without_a_word(
    folder: Callable[[str], Path], tmp_path: Path, load: Load
) -> None:
    copied = shutil.copytree(folder("cogvideox"), tmp_path / "model")
    path = copied / "scheduler" / "scheduler_config.json"
    path.write_text(path.read_text().replace("CogVideoXDDIMScheduler", "CogVideoXDPMScheduler"))
    (note,) = load_video_model(copied).notes
    assert note.startswith("the model came with CogVideoXDPMScheduler")
    assert load("cogvideox").notes == ()
