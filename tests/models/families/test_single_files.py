"""Weights from single files, as ComfyUI keeps them: the makers' names for them, and no config beside them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from PIL.Image import Image
from safetensors.torch import load_file, save_file
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.stage_keys import identity
from physplan_models.encoders import T5_XXL
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.published import Networks
from physplan_testing.tiny_models import build, prepare

MAKERS = {"proj_in": "patchify_proj", "time_embed": "adaln_single", "norm_q": "q_norm", "norm_k": "k_norm"}
WEIGHTS = {
    "transformer": "diffusion_pytorch_model.safetensors",
    "vae": "diffusion_pytorch_model.safetensors",
    "text_encoder": "model.safetensors",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("ltx", tmp_path_factory.mktemp("whole") / "ltx")


@pytest.fixture
def networks(whole: Path) -> Networks:
    return {name: (kind, _config(whole, name)) for name, kind in _classes(whole).items()}


def _classes(whole: Path) -> dict[str, str]:
    index = json.loads((whole / "model_index.json").read_text())
    return {name: index[name][1] for name in ("transformer", "vae")}


def _config(whole: Path, part: str) -> dict[str, object]:
    found = json.loads((whole / part / "config.json").read_text())
    return {name: value for name, value in found.items() if not name.startswith("_")}


@pytest.fixture
def files(whole: Path, tmp_path: Path) -> dict[str, Path]:
    """The denoiser under its makers' names; the encoder's shared table once, as the makers keep it."""
    found = {}
    for part, name in WEIGHTS.items():
        state = load_file(whole / part / name)
        if part == "transformer":
            state = {f"model.diffusion_model.{_theirs(key)}": weight for key, weight in state.items()}
        state.pop("encoder.embed_tokens.weight", None)
        found[part] = tmp_path / f"{part}.safetensors"
        save_file(state, found[part])
    return found


def _theirs(name: str) -> str:
    for ours, theirs in MAKERS.items():
        name = name.replace(ours, theirs)
    return name


def video_of(source: Path, picture: Image, options: LoadOptions | None = None) -> Tensor:
    model = load_video_model(source, options)
    run = prepare(model, picture)
    with torch.no_grad():
        return model.decode(model.predict(run.latents, 1, run), run.layout)


@pytest.mark.parametrize("parts", [("transformer",), ("vae",), ("text_encoder",), tuple(WEIGHTS)])
def test_a_model_with_parts_from_single_files_makes_the_same_video(
    parts: tuple[str, ...],
    whole: Path,
    files: Mapping[str, Path],
    networks: Networks,
    tmp_path: Path,
    picture: Image,
) -> None:
    partial = Path(shutil.copytree(whole, tmp_path / "partial"))
    for part in parts:
        if part == "text_encoder":
            (partial / part / WEIGHTS[part]).unlink()
        else:
            shutil.rmtree(partial / part)  # not even its config was fetched
    options = LoadOptions(files={part: files[part] for part in parts}, networks=networks)
    assert torch.equal(video_of(partial, picture, options), video_of(whole, picture))


def test_the_known_text_encoder_has_the_shape_of_t5_xxl() -> None:
    from transformers import T5Config, T5EncoderModel

    with torch.device("meta"):
        encoder = T5EncoderModel(T5Config(**T5_XXL))
    assert sum(weight.numel() for weight in encoder.parameters()) == 4_762_310_656


def test_what_a_file_cannot_be_is_said_in_one_sentence(
    whole: Path, files: dict[str, Path], networks: Networks, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no weights")
    small = tmp_path / "eight.safetensors"
    save_file({"x": torch.zeros(4).to(torch.float8_e4m3fn)}, small)
    pickled = tmp_path / "model.ckpt"
    torch.save({}, pickled)
    wrong = {
        tmp_path / "gone.safetensors": "There is no file",
        broken: "not a safetensors file",
        small: "8-bit weights",
        pickled: "give a .safetensors file",
        files["vae"]: "does not hold the weights of a LTXVideoTransformer3DModel",
    }
    for file, sentence in wrong.items():
        with pytest.raises(PhysPlanError, match=sentence):
            load_video_model(whole, LoadOptions(files={"transformer": file}, networks=networks))
    with pytest.raises(PhysPlanError, match="has no part 'transformer_2'"):
        load_video_model(whole, LoadOptions(files={"transformer_2": files["vae"]}))


def test_files_decide_the_video_and_runs_made_before_them_keep_their_keys() -> None:
    plain = load_config("open")
    assert "video.files" not in {name for name, _, _ in identity(plain)}
    chosen = load_config(plain, {"video.files.transformer": "ltx.safetensors"})
    found = {name: (stage, value) for name, stage, value in identity(chosen)}
    assert found["video.files"][0] == "latents"
    assert found["video.files"][1]["transformer"] == "ltx.safetensors"
