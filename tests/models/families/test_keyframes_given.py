"""Keyframes given to models that take them: our loop is the library's pipeline, seed for seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from diffusers.pipelines.ltx.pipeline_ltx_condition import LTXVideoCondition
from diffusers.pipelines.ltx2.pipeline_ltx2_condition import LTX2VideoCondition
from diffusers.pipelines.ltx2.utils import DISTILLED_SIGMA_VALUES
from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.keyframe_conditioning import GivenFrame, settle, touched
from physplan.video.protocol import Conditioning, VideoRequest
from physplan.video.sampling import sample

PIPELINES = {
    "ltx095": diffusers.LTXConditionPipeline,
    "ltx2": diffusers.LTX2ConditionPipeline,
    "ltx25": diffusers.LTX2ConditionPipeline,
    "wan_vace": diffusers.WanVACEPipeline,
    "wan22_vace": diffusers.WanVACEPipeline,
    "wan_flf": diffusers.WanImageToVideoPipeline,
    "wan22": diffusers.WanImageToVideoPipeline,
    "cosmos3": diffusers.Cosmos3OmniPipeline,
    "framepack": diffusers.HunyuanVideoFramepackPipeline,
}
FRAMES = 17
RUN = {
    "prompt": "an ice cube melts", "negative_prompt": "blurry", "height": 32, "width": 64,
    "num_frames": FRAMES, "num_inference_steps": 3,
}  # fmt: skip
Load = Callable[..., FamilyModel]


def picture(seed: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (32, 64, 3), dtype=np.uint8))


def places(name: str) -> tuple[int, ...]:
    if name.startswith("ltx2"):  # the library places pictures at the first frame of a latent
        return (1, 9)
    if name == "cosmos3":  # the last frame of a latent
        return (8, FRAMES - 1)
    return (FRAMES - 1,) if name in ("wan_flf", "wan22", "framepack") else (6, FRAMES - 1)


def keyframes(name: str) -> list[GivenFrame]:
    return [GivenFrame(frame=frame, image=picture(frame)) for frame in places(name)]


def theirs(folder: Path, name: str, scale: float, strength: float = 1.0, **more: Any) -> Tensor:
    pipe = PIPELINES[name].from_pretrained(folder)
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(7)
    common: dict[str, Any] = {**RUN, "guidance_scale": scale, "generator": generator, "output_type": "latent"}
    if name == "ltx095":
        given = [(0, picture(0)), *((one.frame, one.image) for one in keyframes(name))]
        conditions = [
            LTXVideoCondition(image=image, frame_index=frame, strength=strength if frame else 1.0)
            for frame, image in given
        ]
        latents: Tensor = pipe(conditions=conditions, **common, **more).frames
    elif name.startswith("ltx2"):
        given = [(0, picture(0)), *((1 + one.frame // 8, one.image) for one in keyframes(name))]
        conditions = [
            LTX2VideoCondition(frames=image, index=index, strength=strength if index else 1.0)
            for index, image in given
        ]
        pipe.tokenizer_padding_side = "left"  # of the real tokenizer, and of every encoding
        off: dict[str, Any] = {"stg_scale": 0.0, "modality_scale": 1.0, "guidance_rescale": 0.0}
        off |= {f"audio_{name}": value for name, value in off.items()} | {"audio_guidance_scale": None}
        newer = name == "ltx25"  # distilled
        if newer:
            common = {**common, "num_inference_steps": 8, "sigmas": DISTILLED_SIGMA_VALUES}
        made = pipe(conditions=conditions, use_cross_timestep=newer, **off, **common).frames
        latents = pipe._normalize_latents(made, pipe.vae.latents_mean, pipe.vae.latents_std)
    elif name == "cosmos3":
        clip = [picture(0)] * 5 + [picture(8)] * 8 + [picture(FRAMES - 1)] * 4
        video: Any = np.stack([np.array(one) for one in clip]) / 255.0
        latents = pipe(video=video, condition_frame_indexes_vision=(0, 2, 4), **common).video
    elif name.endswith("vace"):
        grey, white, black = (
            Image.new(mode, (64, 32), value)  # type: ignore[arg-type]
            for mode, value in (("RGB", (128, 128, 128)), ("L", 255), ("L", 0))
        )
        video, mask = [grey] * FRAMES, [white] * FRAMES
        for frame, image in [(0, picture(0)), *((one.frame, one.image) for one in keyframes(name))]:
            video[frame], mask[frame] = image, black
        latents = pipe(video=video, mask=mask, **common).frames
    elif name == "framepack":
        del common["negative_prompt"]
        section = {"num_frames": 1, "latent_window_size": FRAMES // 4}
        [latents] = pipe(image=picture(0), last_image=picture(FRAMES - 1), **{**common, **section}).frames
    else:
        latents = pipe(image=picture(0), last_image=keyframes(name)[0].image, **common).frames
    return latents


def prepared(model: FamilyModel, given: list[GivenFrame], scale: float = 6.0, **more: int) -> Conditioning:
    generator = torch.Generator().manual_seed(7)
    run = {**RUN, **more}
    return model.prepare(
        VideoRequest(image=picture(0), guidance_scale=scale, generator=generator, keyframes=given, **run)
    )


def ours(model: FamilyModel, name: str, scale: float, **hint: float) -> Tensor:
    steps = {"num_inference_steps": 8} if name == "ltx25" else {}
    conditioning = prepared(model, [replace(one, **hint) for one in keyframes(name)], scale, **steps)
    return sample(model, conditioning)[:, :, conditioning.layout.video]


@pytest.mark.parametrize("scale", [1.0, 6.0])
@pytest.mark.parametrize("name", PIPELINES)
def test_our_loop_with_keyframes_equals_the_librarys_pipeline(
    name: str, scale: float, load: Load, folder: Callable[[str], Path]
) -> None:
    expected, found = theirs(folder(name), name, scale), ours(load(name), name, scale)
    assert found.shape == expected.shape
    # The library leaves a last bit of noise on LTX's first latent; ours is the picture itself.
    first = 1 if name == "ltx095" else 0
    assert float((found - expected)[:, :, first:].abs().max()) <= 1e-5


@pytest.mark.parametrize("strength", [0.6, 0.05])
@pytest.mark.parametrize("name", ["ltx095", "ltx2", "ltx25"])
def test_a_keyframe_of_less_strength_is_the_librarys(
    name: str, strength: float, load: Load, folder: Callable[[str], Path]
) -> None:
    expected = theirs(folder(name), name, 6.0, strength)
    found = ours(load(name), name, 6.0, strength=strength)
    first = 1 if name == "ltx095" else 0
    assert float((found - expected)[:, :, first:].abs().max()) <= 1e-5
    whole = ours(load(name), name, 6.0)
    assert float((found - whole).abs().max()) > 1e-4


@pytest.mark.parametrize("name", ["ltx095", "ltx2"])
def test_a_keyframe_that_fades_is_not_seen_by_the_later_steps(name: str, load: Load) -> None:
    model, seen = load(name), []
    network = model.denoiser.forward

    def spy(**given: Any) -> Any:
        seen.append(given["hidden_states"].shape[1])
        return network(**given)

    model.denoiser.forward = spy  # type: ignore[method-assign]
    try:
        found = ours(model, name, 1.0, until=0.5)
    finally:
        model.denoiser.forward = network  # type: ignore[method-assign]
    cells, given = 4 * 8, 2
    assert [count - seen[-1] for count in seen] == [given * cells, given * cells, 0]
    assert float((found - ours(model, name, 1.0)).abs().max()) > 1e-5  # more than parity allows


@pytest.mark.parametrize("name", ["wan_vace", "wan22"])
def test_a_model_that_takes_no_hints_says_so(name: str, load: Load) -> None:
    with pytest.raises(PhysPlanError, match="holds keyframes to the end"):
        prepared(load(name), [replace(keyframes(name)[-1], strength=0.5)])


def test_without_noise_on_what_is_given_all_of_ltx_is_the_same(
    load: Load, folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load("ltx095")
    monkeypatch.setattr(type(model), "jitter", 0.0)
    expected = theirs(folder("ltx095"), "ltx095", 6.0, image_cond_noise_scale=0.0)
    assert float((ours(model, "ltx095", 6.0) - expected).abs().max()) <= 1e-5


@pytest.mark.parametrize("name", PIPELINES)
def test_another_keyframe_gives_another_video(name: str, load: Load) -> None:
    model, made = load(name), []
    for seed in (1, 2):
        given = [GivenFrame(frame=FRAMES - 1, image=picture(seed))]
        generator = torch.Generator().manual_seed(7)
        conditioning = model.prepare(
            VideoRequest(image=picture(0), guidance_scale=1.0, generator=generator, keyframes=given, **RUN)
        )
        made.append(sample(model, conditioning))
    video = model.decode(made[0], conditioning.layout)
    assert video.shape == (FRAMES, 3, 32, 64)
    assert float((made[0] - made[1]).abs().max()) > 1e-5  # more than parity allows


def left_half() -> Tensor:
    where = torch.zeros(32, 64, dtype=torch.bool)
    where[:, :32] = True
    return where


def with_latents_of(conditioning: Conditioning, other: Conditioning, where: Tensor) -> Conditioning:
    """A run whose keyframes are another run's in the latent cells of a mask [h, w]."""
    latents, given = conditioning.latents.clone(), conditioning.layout.padding
    latents[:, :, :given] = torch.where(where, other.latents, latents)[:, :, :given]
    return replace(conditioning, latents=latents)


@pytest.mark.parametrize("name", ["ltx095", "wan_vace"])
def test_a_keyframe_given_everywhere_is_the_whole_keyframe(name: str, load: Load) -> None:
    everywhere = torch.ones(32, 64, dtype=torch.bool)
    model, whole = load(name), keyframes(name)
    given = [replace(one, where=everywhere) for one in whole]
    found, expected = (sample(model, prepared(model, one)) for one in (given, whole))
    assert torch.equal(found, expected)


@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_of_a_keyframe_given_in_part_ltx_sees_those_tokens_alone(
    scale: float, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, whole = load("ltx095"), keyframes("ltx095")
    part = [replace(whole[0], where=left_half()), whole[1]]
    conditioning = prepared(model, part, scale)
    seen: list[dict[str, Any]] = []
    network = model.denoiser.forward
    monkeypatch.setattr(model.denoiser, "forward", lambda **given: seen.append(given) or network(**given))
    model.predict(conditioning.latents, 0, conditioning)
    every, cells = conditioning.layout.num_latents * 4 * 8, 4 * 8
    tokens = {given["hidden_states"].shape[1] for given in seen}
    assert tokens == {every - cells // 2}
    assert all(given["timestep"].shape[1] == every - cells // 2 for given in seen)
    columns = seen[0]["video_coords"][0, 2]
    assert columns[: cells // 2].max() < 32 <= columns[cells // 2 :].max(), "the first keyframe's left half"


def test_what_is_not_given_of_a_keyframe_has_no_influence_and_what_is_given_has(load: Load) -> None:
    """Exchanged in latents: in pixels the autoencoder spreads a change beyond any border."""
    model, left = load("ltx095"), left_half()
    one, other = (
        prepared(model, [GivenFrame(frame=FRAMES - 1, image=picture(seed), where=left)]) for seed in (1, 2)
    )
    cells = touched(left, (4, 8))
    video, outside, inside = (
        sample(model, run)[:, :, 1:]
        for run in (one, with_latents_of(one, other, ~cells), with_latents_of(one, other, cells))
    )
    assert torch.equal(outside, video)
    assert float((inside - video).abs().max()) > 1e-5  # more than parity allows


def test_a_keyframe_in_part_leaves_the_seeds_noise_and_the_frozen_latents_as_they_are(load: Load) -> None:
    model, whole = load("ltx095"), keyframes("ltx095")
    part = prepared(model, [replace(one, where=left_half()) for one in whole])
    assert torch.equal(part.latents, prepared(model, whole).latents)
    frozen = part.noise.frozen
    assert torch.equal(sample(model, part)[:, :, :frozen], part.latents[:, :, :frozen])


def test_gradients_pass_a_keyframe_that_is_given_in_part(load: Load) -> None:
    model = load("ltx095")
    part = prepared(model, [replace(one, where=left_half()) for one in keyframes("ltx095")])
    latents = part.latents.clone().requires_grad_()
    model.predict(latents, 0, part)[:, :, part.noise.frozen :].sum().backward()
    gradient = latents.grad
    assert gradient is not None
    assert torch.isfinite(gradient).all()
    assert gradient[:, :, part.noise.frozen :].abs().min() > 0


def test_a_part_of_a_keyframe_is_vaces_own_mask(load: Load, folder: Callable[[str], Path]) -> None:
    part = Image.fromarray(np.where(left_half().numpy(), 0, 255).astype(np.uint8))
    grey, white = Image.new("RGB", (64, 32), (128, 128, 128)), Image.new("L", (64, 32), 255)
    video, mask = [grey] * FRAMES, [white] * FRAMES
    video[0], mask[0] = picture(0), Image.new("L", (64, 32), 0)
    video[6], mask[6] = Image.composite(grey, picture(6), part), part
    pipe = PIPELINES["wan_vace"].from_pretrained(folder("wan_vace"))
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(7)
    expected = pipe(
        video=video, mask=mask, guidance_scale=6.0, generator=generator, output_type="latent", **RUN
    ).frames
    model = load("wan_vace")
    found = sample(model, prepared(model, [GivenFrame(frame=6, image=picture(6), where=left_half())]))
    assert float((found - expected).abs().max()) <= 1e-5


@pytest.mark.parametrize("name", ["ltx095", "wan_vace"])
def test_a_keyframe_of_which_nothing_is_given_is_refused(name: str, load: Load) -> None:
    nothing = GivenFrame(frame=6, image=picture(6), where=torch.zeros(32, 64, dtype=torch.bool))
    with pytest.raises(PhysPlanError, match="Nothing of the keyframe of frame 6 is given: leave it out"):
        prepared(load(name), [nothing])


def test_a_single_pixel_gives_its_cell() -> None:
    where = torch.zeros(480, 704, dtype=torch.bool)
    where[479, 0] = True
    assert touched(where, (15, 22)).nonzero().tolist() == [[14, 0]]


@pytest.mark.parametrize("name", ["cogvideox", "wan", "wan22_5b", "ltx", "svd"])
def test_a_model_that_takes_none_says_so(name: str, load: Load) -> None:
    given = [GivenFrame(frame=4, image=picture(1))]
    with pytest.raises(PhysPlanError, match="takes no keyframes"):
        load(name).prepare(
            VideoRequest(
                image=picture(0), guidance_scale=1.0, generator=torch.Generator(), keyframes=given, **RUN
            )
        )


def test_a_picture_where_there_is_no_place_is_refused(load: Load) -> None:
    given = [GivenFrame(frame=4, image=picture(1))]
    with pytest.raises(PhysPlanError, match="no picture at frame 4"):
        load("wan22").prepare(
            VideoRequest(
                image=picture(0), guidance_scale=1.0, generator=torch.Generator(), keyframes=given, **RUN
            )
        )
    with pytest.raises(PhysPlanError, match="from a first to a last frame"):
        load("wan_flf").prepare(
            VideoRequest(image=picture(0), guidance_scale=1.0, generator=torch.Generator(), **RUN)
        )


def test_keyframes_go_to_the_nearest_place_and_that_is_said() -> None:
    wanted = [GivenFrame(frame=frame, image=picture(frame)) for frame in (10, 30, 44)]
    exact, notes = settle(wanted, range(1, 49))
    assert ([one.frame for one in exact], notes) == ([10, 30, 44], ())
    moved, notes = settle(wanted, (48,))
    assert [(one.frame, one.image) for one in moved] == [(48, wanted[2].image)]
    assert [note.split(":")[0] for note in notes] == [
        "the keyframe of frame 10 is left out",
        "the keyframe of frame 30 is left out",
        "the keyframe of frame 44 is given at frame 48, the nearest it takes",
    ]
    shared = [GivenFrame(frame=20, image=picture(1)), GivenFrame(frame=20, image=picture(2))]
    one, notes = settle(shared, range(1, 49))
    assert one[0].image is shared[1].image, "the later event"
    assert len(notes) == 1
