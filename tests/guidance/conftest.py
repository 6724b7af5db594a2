"""A tiny CogVideoX and a plan with evidence to guide it by."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from PIL import Image
from tests.scenes import MELTING_FIRST, MELTING_KEYFRAMES, ColourSegmenter, melting_chain

from physplan.graph import EventChain
from physplan.guidance import GuidanceConfig, Objective, build_objective
from physplan.perception import Evidence, gather_evidence
from physplan.video.base import FamilyModel
from physplan.video.protocol import Conditioning, VideoRequest
from physplan_models.loading import LoadOptions, load_video_model
from physplan_testing import tiny_models
from physplan_testing.pictures import ColourFeatures, ground_depth

VIDEO = (32, 32)
Prepare = Callable[..., tuple[Conditioning, torch.Generator]]


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)  # faster than two for tiny models


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], FamilyModel]:
    base = tmp_path_factory.mktemp("models")
    options = LoadOptions(checkpointing=False, keep_encoders=True)
    return lambda name: load_video_model(tiny_models.build(name, base / name), options)


@pytest.fixture(scope="session")
def model(load: Callable[[str], FamilyModel]) -> FamilyModel:
    return load("cogvideox")


@pytest.fixture(scope="session")
def prepare(model: FamilyModel) -> Prepare:
    """A fresh run of the tiny model and the generator it was drawn with."""

    def make(
        seed: int = 0, steps: int = 4, scale: float = 6.0, of: FamilyModel = model
    ) -> tuple[Conditioning, torch.Generator]:
        generator = torch.Generator().manual_seed(seed)
        pixels = (MELTING_FIRST.permute(1, 2, 0) * 255).byte().numpy()
        conditioning = of.prepare(
            VideoRequest(
                image=Image.fromarray(pixels),
                prompt="an ice cube melts on the tray",
                height=VIDEO[0],
                width=VIDEO[1],
                num_frames=17,
                num_inference_steps=steps,
                guidance_scale=scale,
                generator=generator,
            )
        )
        return conditioning, generator

    return make


@pytest.fixture(scope="session")
def chain() -> EventChain:
    return melting_chain(17)


@pytest.fixture(scope="session")
def evidence(chain: EventChain) -> Evidence:
    return gather_evidence(
        chain, MELTING_FIRST, MELTING_KEYFRAMES, segmenter=ColourSegmenter(), depth=ground_depth
    )


@pytest.fixture(scope="session")
def objective_for(chain: EventChain, evidence: Evidence) -> Callable[[GuidanceConfig], Objective]:
    return lambda config: build_objective(
        config.losses,
        chain,
        evidence,
        encoder=ColourFeatures(),
        depth=ground_depth,
        size=VIDEO,
        device=torch.device("cpu"),
        config=config.measure,
    )
