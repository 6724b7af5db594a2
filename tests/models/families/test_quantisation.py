"""Weights in few bits: guided and unguided, as the library computes with them, in the bytes foretold.

GGUF and 8-bit storage run on any CPU; torchao is tried where it is installed; the rest is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.extras import is_installed
from physplan.video.base import FamilyModel
from physplan.video.sampling import sample
from physplan_models import memory
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.memory import estimate_folder, measure_step
from physplan_testing import tiny_models

Folder = Callable[[str], Path]
Load = Callable[..., FamilyModel]
FILES = ["ltx", "ltx2", "wan", "wan_vace"]
SIZE: dict[str, Any] = {"height": 32, "width": 32, "num_frames": 9, "guidance_scale": 6.0}
ALL = [*FILES, "cogvideox", "hunyuan15"]


@pytest.fixture(scope="module")
def gguf_file(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    pytest.importorskip("gguf")
    from physplan_testing import tiny_gguf

    base = tmp_path_factory.mktemp("gguf")

    def get(name: str, kind: str) -> str:
        file = base / f"{name}-{kind}.gguf"
        return str(file if file.exists() else tiny_gguf.write(folder(name) / "transformer", file, kind))

    return get


def gradient(model: FamilyModel, picture: Image) -> Tensor:
    conditioning = tiny_models.prepare(model, picture)
    z = conditioning.latents.clone().requires_grad_()
    prediction = model.predict(z, 0, conditioning)
    weights = torch.randn(prediction.shape, generator=torch.Generator().manual_seed(1))
    return torch.autograd.grad((prediction * weights).sum(), z)[0]


def off(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).norm() / exact.norm())


@pytest.mark.parametrize(("kind", "latents", "gradients"), [("Q8_0", 0.01, 0.05), ("Q4_0", 0.15, 0.5)])
@pytest.mark.parametrize("name", FILES)
def test_a_gguf_file_is_sampled_and_differentiated(
    name: str, kind: str, latents: float, gradients: float, load: Load, gguf_file: Any, picture: Image
) -> None:
    full, few = (load(name, checkpointing=True, quantisation=q) for q in (None, gguf_file(name, kind)))
    videos = [sample(model, tiny_models.prepare(model, picture)) for model in (full, few)]
    assert 0 < off(videos[1], videos[0]) < latents
    assert 0 < off(gradient(few, picture), gradient(full, picture)) < gradients
    assert any("GGUF" in type(module).__name__ for module in few.denoiser.modules())


def test_a_gguf_file_gives_the_librarys_video(
    load: Load, folder: Folder, gguf_file: Any, picture: Image
) -> None:
    file = gguf_file("ltx", "Q4_0")
    transformer = diffusers.LTXVideoTransformer3DModel.from_single_file(
        file,
        config=str(folder("ltx") / "transformer"),
        quantization_config=diffusers.GGUFQuantizationConfig(compute_dtype=torch.float32),
        torch_dtype=torch.float32,
        local_files_only=True,
    )
    pipe = diffusers.LTXImageToVideoPipeline.from_pretrained(folder("ltx"), transformer=transformer)
    made = pipe(
        image=picture, prompt="a ball rolls", negative_prompt="", height=32, width=32, num_frames=9,
        num_inference_steps=2, guidance_scale=6.0, generator=torch.Generator().manual_seed(0),
        output_type="latent",
    ).frames  # fmt: skip
    model = load("ltx", quantisation=file)
    found = sample(model, tiny_models.prepare(model, picture))
    expected = pipe._unpack_latents(made, *found.shape[2:])
    assert float((found - expected).abs().max()) <= 1e-5


@pytest.mark.parametrize("name", ALL)
def test_weights_stored_in_8_bits_are_computed_with_in_full(name: str, load: Load, picture: Image) -> None:
    """Each layer's weights are cast for its turn, in the backward pass' recomputation too."""
    full, stored = (load(name, checkpointing=True, quantisation=q) for q in (None, "fp8-storage"))
    assert any(p.dtype == torch.float8_e4m3fn for p in stored.denoiser.parameters())
    videos = [sample(model, tiny_models.prepare(model, picture)) for model in (full, stored)]
    assert 0 < off(videos[1], videos[0]) < 0.2
    kept = load(name, checkpointing=False, quantisation="fp8-storage")
    assert torch.allclose(gradient(stored, picture), gradient(kept, picture), rtol=1e-4, atol=1e-6)
    assert 0 < off(gradient(stored, picture), gradient(full, picture)) < 0.7


@pytest.mark.skipif(not is_installed("torchao"), reason="torchao is not installed")
@pytest.mark.parametrize("name", ["cogvideox", "ltx", "hunyuan15"])
def test_torchao_is_sampled_and_differentiated(name: str, load: Load, folder: Folder, picture: Image) -> None:
    full, few = (load(name, checkpointing=True, quantisation=q) for q in (None, "torchao-int8"))
    videos = [sample(model, tiny_models.prepare(model, picture)) for model in (full, few)]
    assert 0 < off(videos[1], videos[0]) < 0.05
    assert 0 < off(gradient(few, picture), gradient(full, picture)) < 0.2
    found = estimate_folder(folder(name), dtype="fp32", quantisation="torchao-int8", **SIZE)
    there = sum(map(bytes_of, memory.parameters(few)))
    assert found.weights == pytest.approx(there, rel=0.15)


def bytes_of(tensor: Tensor) -> int:
    """Of a tensor that is made of others: theirs."""
    if hasattr(tensor, "__tensor_flatten__"):
        return sum(bytes_of(getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0])
    return tensor.numel() * tensor.element_size()


@pytest.mark.parametrize("mode", ["none", "fused"])
@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "Q4_0") for name in FILES), *((name, "fp8-storage") for name in ALL)]
)
def test_the_memory_of_few_bits_is_estimated_within_15_percent(
    name: str, kind: str, mode: Any, load: Load, folder: Folder, gguf_file: Any, picture: Image
) -> None:
    choice = kind if kind == "fp8-storage" else gguf_file(name, kind)
    model = load(name, checkpointing=True, quantisation=choice)
    words = {"prompt": "a ball rolls " * 90 + '"' + "glyphs " * 40 + '"'}  # as long as they may be
    conditioning = tiny_models.prepare(model, picture, negative_prompt=words["prompt"], **words)
    found = estimate_folder(folder(name), dtype="fp32", quantisation=choice, gradient_mode=mode, **SIZE)
    there = sum(map(bytes_of, memory.parameters(model)))
    assert found.weights == pytest.approx(there, rel=0.15)
    step = measure_step(model, conditioning, mode)[2]
    assert found.weights + found.sampling == pytest.approx(there + step, rel=0.15)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("svd", {"quantisation": "fp8-storage"}, "a U-Net's convolutions"),
        ("ltx", {"quantisation": "nf5"}, "no quantisation 'nf5': give a .gguf file, or one of fp8"),
        ("ltx", {"quantisation": "bitsandbytes-nf4"}, "lacks .*a GPU for bitsandbytes-nf4"),
        ("ltx", {"quantisation": "none.gguf"}, "the file none.gguf"),
        ("ltx", {"quantisation": "fp8-storage", "offload": "disk"}, "use offload none or model, not disk"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    name: str, options: dict[str, Any], message: str, folder: Folder
) -> None:
    with pytest.raises(PhysPlanError, match=message):
        load_video_model(folder(name), LoadOptions(**options))


@pytest.mark.parametrize(
    ("name", "message"), [("cogvideox", "no GGUF file of a CogVideoX"), ("wan22", "this model has two")]
)
def test_a_file_that_the_model_cannot_have_is_refused(
    name: str, message: str, folder: Folder, gguf_file: Any
) -> None:
    with pytest.raises(PhysPlanError, match=message):
        load_video_model(folder(name), LoadOptions(quantisation=gguf_file("ltx", "Q8_0")))
