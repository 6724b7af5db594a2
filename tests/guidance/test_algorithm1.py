"""The paper's algorithm 1, written out in `guidance/paper`, and the loop that makes videos: equal latents."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.scenes import MELTING_FIRST, MELTING_KEYFRAMES, ColourSegmenter, melting_chain
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance import PAPER, Guide, MeasureConfig, Schedule, guide
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.paper import regions
from physplan.guidance.paper.algorithm import algorithm1
from physplan.guidance.paper.constants import CONSTANTS, Constants
from physplan.perception import Evidence, gather_evidence
from physplan.pictures import to_picture
from physplan.video.protocol import Conditioning, DrawsOutcome, VideoModel, VideoRequest
from physplan_testing import tiny_models
from physplan_testing.pictures import ColourFeatures, ground_depth

# A random decoder shows grey mush: a low b finds something in it. Both stages, and a step without guidance.
SHORT = Constants(threshold=0.3, layout_steps=1, guided_steps=2, repeats=1)
FAMILIES = ("cogvideox", "wan", "wan_vace", "ltx", "ltx2", "svd")
VARIANTS = ("hunyuan15", "cogvideox15", "wan22", "wan22_5b", "ltx095")  # the slowest family, and versions


@pytest.fixture
def float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the models compute in float32, they compute in float64."""
    monkeypatch.setattr(Tensor, "float", Tensor.double)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    regions._overlap.cache_clear()  # it keeps tensors
    yield  # type: ignore[misc]
    torch.set_default_dtype(before)
    regions._overlap.cache_clear()


def settings(constants: Constants) -> GuidanceConfig:
    """PAPER, but for the limit at which it takes a term for satisfied (docs/presets.md)."""
    return replace(
        PAPER,
        step_size=constants.step_size,
        outside_weight=constants.outside_weight,
        schedule=Schedule.linear(
            layout_steps=constants.layout_steps,
            guided_steps=constants.guided_steps,
            repeats=constants.repeats,
        ),
        measure=replace(
            PAPER.measure, threshold=constants.threshold, temperature=constants.temperature, satisfied=0.0
        ),
    )


def in_double(model: VideoModel, conditioning: Conditioning) -> Conditioning:
    codec = model.codec  # type: ignore[attr-defined]
    autoencoder = codec.autoencoder if hasattr(codec, "autoencoder") else codec.vae
    for network in (*model.denoisers, autoencoder):  # type: ignore[attr-defined]
        network.double()
    inputs = {name: doubled(value) for name, value in conditioning.inputs.items()}
    return replace(conditioning, latents=conditioning.latents.double(), inputs=inputs)


def double_evidence(evidence: Evidence) -> Evidence:
    first, *keyframes = (
        replace(one, image=one.image.double(), depth=one.depth.double())
        for one in (evidence.first, *evidence.keyframes)
    )
    return replace(evidence, first=first, keyframes=tuple(keyframes))


def doubled(value: object) -> object:
    if isinstance(value, Tensor):
        return value.double() if value.dtype == torch.float32 else value
    if isinstance(value, tuple | list):
        return type(value)(doubled(entry) for entry in value)
    return value


def both_ways(
    model: VideoModel, conditioning: Conditioning, chain: EventChain, evidence: Evidence, **backends: object
) -> tuple[Tensor, Tensor]:
    state = torch.Generator().manual_seed(7).get_state()

    def generator() -> torch.Generator:
        made = torch.Generator()
        made.set_state(state)
        return made

    looks = {"encoder": ColourFeatures(), "depth": ground_depth} | backends
    reference = algorithm1(
        model, conditioning, chain, evidence, generator=generator(), constants=SHORT, **looks
    )
    made = guide(
        model,
        conditioning,
        Guide(chain=chain, evidence=evidence, config=settings(SHORT)),
        generator=generator(),
        **looks,
    )
    assert sum(term.gradient_norm is not None for step in made.steps for term in step.terms) >= 6
    return reference, made.latents


@pytest.mark.parametrize(
    "name", [*FAMILIES, *(pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS)]
)
def test_the_reference_and_the_production_loop_give_equal_latents(
    float64: None, name: str, tmp_path, chain, evidence, prepare
) -> None:
    from physplan_models.loading import LoadOptions, load_video_model

    folder = tiny_models.build(name, tmp_path / name)
    model = load_video_model(folder, LoadOptions(checkpointing=False, keep_encoders=True))
    conditioning = in_double(model, prepare(of=model, steps=3)[0])
    reference, made = both_ways(model, conditioning, chain, double_evidence(evidence))
    assert made.dtype == torch.float64
    torch.testing.assert_close(made, reference, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_the_two_are_equal_in_the_sandbox(float64: None) -> None:
    """With its own weights; the outcome code is left open, as guidance decides what happens."""
    from physplan_sandbox.components import WEIGHTS
    from physplan_sandbox.video import SandboxVideo

    model, plan = SandboxVideo.from_pretrained(WEIGHTS / "video"), melting_chain(33)
    conditioning = model.prepare(
        VideoRequest(
            image=to_picture(MELTING_FIRST),
            prompt="an ice cube melts on the tray",
            height=96,
            width=96,
            num_frames=33,
            num_inference_steps=3,
            guidance_scale=1.0,
            generator=torch.Generator().manual_seed(0),
        )
    )
    seen = gather_evidence(
        plan, MELTING_FIRST, MELTING_KEYFRAMES, segmenter=ColourSegmenter(), depth=ground_depth
    )
    assert isinstance(model, DrawsOutcome)
    conditioning = in_double(model, model.undecided(conditioning))
    reference, made = both_ways(model, conditioning, plan, double_evidence(seen))
    torch.testing.assert_close(made, reference, rtol=1e-7, atol=1e-9)


def test_the_settings_of_the_paper_are_its_constants() -> None:
    linear = Schedule.linear(
        layout_steps=CONSTANTS.layout_steps,
        guided_steps=CONSTANTS.guided_steps,
        repeats=CONSTANTS.repeats,
    )
    assert PAPER.schedule == linear
    assert sum(linear.repeats) == 135
    assert (PAPER.step_size, PAPER.outside_weight) == (CONSTANTS.step_size, CONSTANTS.outside_weight)
    measure = MeasureConfig(ignore_lookalikes=False)
    assert PAPER.measure == measure
    assert (measure.threshold, measure.temperature) == (CONSTANTS.threshold, CONSTANTS.temperature)
    assert measure.instance_level == CONSTANTS.instance_level
    assert PAPER.reevaluate
    assert PAPER.start == "noise"
    assert not PAPER.keep
