"""LoRAs: what the weights become, whose names are read, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from physplan.errors import PhysPlanError
from physplan_models.loading import LoadOptions, load_video_model
from physplan_testing import tiny_models

LAYER = "blocks.0.attn1.to_q"


@pytest.fixture(scope="module")
def wan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.build("wan22", tmp_path_factory.mktemp("models") / "wan22")


def written(path: Path, name: str = f"transformer.{LAYER}", width: int = 24, **more: torch.Tensor) -> Path:
    torch.manual_seed(3)
    parts = {"lora_A.weight": torch.randn(2, width), "lora_B.weight": torch.randn(24, 2)}
    save_file({f"{name}.{end}": value for end, value in (parts | more).items()}, path)
    return path


def weights(folder: Path, loras: dict[str, float]) -> list[torch.Tensor]:
    model = load_video_model(folder, LoadOptions(loras=loras))
    return [network.get_submodule(LAYER).weight for network in model.denoisers]


def test_a_lora_is_added_to_the_weights_by_its_weight(wan: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "few-steps.safetensors")
    torch.manual_seed(3)
    down, up = torch.randn(2, 24), torch.randn(24, 2)
    plain, changed = weights(wan, {}), weights(wan, {str(file): 0.5})
    assert torch.allclose(changed[0] - plain[0], 0.5 * up @ down, atol=1e-6)
    assert torch.equal(changed[1], plain[1]), "the second denoiser has none"
    second = weights(wan, {f"transformer_2:{file}": 1.0})
    assert torch.equal(second[0], plain[0])
    assert torch.allclose(second[1] - plain[1], up @ down, atol=1e-6)


def test_the_makers_own_names_are_read(wan: Path, tmp_path: Path) -> None:
    ours = weights(wan, {str(written(tmp_path / "a.safetensors")): 1.0})
    torch.manual_seed(3)
    parts = {"lora_A.weight": torch.randn(2, 24), "lora_B.weight": torch.randn(24, 2)}
    makers = {f"diffusion_model.blocks.0.self_attn.q.{end}": value for end, value in parts.items()}
    save_file(makers, tmp_path / "b.safetensors")
    assert torch.equal(weights(wan, {str(tmp_path / "b.safetensors"): 1.0})[0], ours[0])


def test_a_file_of_another_model_is_refused(wan: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.safetensors", width=8)
    with pytest.raises(PhysPlanError, match="is not a LoRA of this WanTransformer3DModel: 1 of 1"):
        weights(wan, {str(other): 1.0})
    unknown = written(tmp_path / "unknown.safetensors", name="transformer.layers.7.to_q")
    with pytest.raises(PhysPlanError, match=r"such as layers\.7\.to_q"):
        weights(wan, {str(unknown): 1.0})
    with pytest.raises(PhysPlanError, match="There is no file"):
        weights(wan, {str(tmp_path / "none.safetensors"): 1.0})
    save_file({"text_encoder.q.weight": torch.zeros(2)}, tmp_path / "none-of-it.safetensors")
    with pytest.raises(PhysPlanError, match="holds no LoRA"):
        weights(wan, {str(tmp_path / "none-of-it.safetensors"): 1.0})
