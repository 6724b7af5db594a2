"""A seed means the same everywhere (what must be true, 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel, require_cpu
from physplan.video.sampling import draw_noise, sample
from physplan_testing.tiny_models import prepare


@pytest.fixture
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


# From sigma 700 in two steps, float32 itself is not good to 1e-4.
SMALL = {"height": 16, "width": 16, "num_inference_steps": 3, "guidance_scale": 1.0}


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("name", ["cogvideox", "wan", "ltx", "ltx2", "hunyuan15", "svd"])
def test_a_seed_gives_the_same_latents_on_one_and_two_threads(
    name: str, load: Callable[..., FamilyModel], picture: Image
) -> None:
    model, found = load(name), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(sample(model, prepare(model, picture, seed=3, **SMALL)))
    assert (found[0] - found[1]).abs().max() <= 1e-4
    assert not torch.equal(*(prepare(model, picture, seed=seed, **SMALL).latents for seed in (3, 4)))


def test_a_run_with_an_eta_draws_from_its_generator(
    load: Callable[..., FamilyModel], picture: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load("cogvideox")
    with pytest.raises(PhysPlanError, match="eta of cogvideox must be 0: the library's steps draw no noise"):
        prepare(model, picture, eta=0.5, **SMALL)
    monkeypatch.setattr(type(model), "has_eta", True)  # as the sandbox's model, which is of this family
    conditioning = prepare(model, picture, seed=3, eta=1.0, **SMALL)
    drawn = [sample(model, conditioning, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    with pytest.raises(PhysPlanError, match="pass the run's generator"):
        sample(model, conditioning)
    with pytest.raises(PhysPlanError, match="eta of wan must be 0"):
        prepare(load("wan"), picture, eta=0.5, **SMALL)


def test_noise_is_drawn_on_the_cpu_for_any_device() -> None:
    """On the meta device, which stands for any other: the numbers come from the CPU generator."""
    like = torch.empty(1, 2, 3, 4, 4, device="meta")
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    assert draw_noise(like, generator).device.type == "meta"
    assert not torch.equal(before, generator.get_state())
    on_cpu = draw_noise(torch.empty(1, 2, 3, 4, 4), torch.Generator().manual_seed(0))
    assert torch.equal(on_cpu, torch.randn(1, 2, 3, 4, 4, generator=torch.Generator().manual_seed(0)))


def test_a_generator_of_another_device_is_refused() -> None:
    class OnCuda:
        device = torch.device("cuda:0")

    with pytest.raises(PhysPlanError, match="The generator is on cuda:0"):
        require_cpu(OnCuda())  # type: ignore[arg-type]


def test_a_run_can_be_watched_and_stopped(load: Callable[..., FamilyModel], picture: Image) -> None:
    model = load("cogvideox")
    conditioning = prepare(model, picture, num_inference_steps=3, guidance_scale=1.0)
    seen: list[int] = []

    def watch(n: int, z: Tensor, clean: Tensor) -> bool:
        seen.append(n)
        return n < 1

    early = sample(model, conditioning, on_step=watch)
    assert seen == [0, 1]
    assert early.shape == conditioning.latents.shape
