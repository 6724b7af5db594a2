"""`--method conditioned`: the plan's keyframes given to models that take them, end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.perception.protocol import Instance
from physplan.pipeline import PhysPlan
from physplan.pipeline.config import Config, Inputs
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.events import RunEvent
from physplan.pipeline.latents_stage import unguided_clocks
from physplan.pipeline.stage_keys import deciding_settings
from physplan.video.clocks import FLOW
from physplan.video.keyframe_conditioning import GivenFrame
from physplan.video.protocol import Conditioning, VideoRequest
from physplan_models.families.ltx import LTX
from physplan_models.loading import load_video_model
from physplan_models.memory import published_on_meta
from physplan_models.published import PUBLISHED
from physplan_testing import tiny_models
from physplan_testing.loopback import GeminiServer


def recipe(models: Path, url: str, model: str, folder: str, **more: Any) -> dict[str, Any]:
    made = tiny_pipelines.paper(models, url) | more
    made["video"] = {**made["video"], "model": model, "source": str(models / folder)}
    return made


def test_keyframes_go_to_the_model_alone_or_with_the_sketch(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    given = recipe(models, gemini.url, "ltx-0.9.5", "ltx095", sketch={"weak": 0.4, "strong": 0.7})
    pp = PhysPlan.from_preset(given)
    plain = pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "plain")
    assert plain.video.shape == (9, 3, 32, 32)
    assert torch.isfinite(plain.video).all()
    assert not any("the nearest it takes" in note for note in plain.notes)
    asked = len(gemini.asked)
    both = PhysPlan.from_preset(given | {"conditioned": {"start": "sketch"}}).generate(
        ice, PROMPT, method="conditioned", output_dir=tmp_path / "both", reuse=tmp_path / "plain"
    )
    assert len(gemini.asked) == asked
    assert not torch.allclose(both.video, plain.video, atol=1e-3)


ROWS = {"ice cube": (0, 8), "puddle": (8, 16), "tray": (16, 24), "table": (24, 32)}


def band(name: str) -> Tensor:
    mask = torch.zeros(32, 32, dtype=torch.bool)
    mask[slice(*ROWS[name]), :8] = True
    return mask


def see_bands(pp: PhysPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny segmenter finds everything everywhere; this one finds each thing in its own corner."""

    def segment(image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        return tuple(Instance(category=name, mask=band(name), score=1.0) for name in categories)

    monkeypatch.setattr(pp.backends.segmenter, "segment", segment)


def test_a_model_is_given_keyframes_where_the_edits_are_unless_told_otherwise(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Tensor | None] = []
    prepare = LTX.prepare

    def watched(model: LTX, request: VideoRequest) -> Conditioning:
        given[:] = [one.where for one in request.keyframes]
        return prepare(model, request)

    monkeypatch.setattr(LTX, "prepare", watched)

    def video(name: str, **settings: Any) -> Tensor:
        made = recipe(models, gemini.url, "ltx-0.9.5", "ltx095", **settings)
        made["editor"] = {**made["editor"], "check": {"margin": 0}}
        pp = PhysPlan.from_preset(made)
        see_bands(pp, monkeypatch)
        result = pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / name)
        assert not any("given whole" in note for note in result.notes)
        return result.video

    edited = video("edits")
    melting, melted = band("ice cube") | band("tray"), band("ice cube") | band("tray") | band("puddle")
    for found, expected in zip(given, (melting, melted, melted), strict=True):
        assert found is not None
        assert torch.equal(found, expected), "not the table"
    whole = video("whole", conditioned={"where": "everywhere"})
    assert given == [None] * 3
    assert not torch.allclose(edited, whole, atol=1e-4)


def test_a_conditioned_sampling_that_was_cut_off_goes_on_to_the_bit(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pp = PhysPlan.from_preset(recipe(models, gemini.url, "ltx-0.9.5", "ltx095"))
    see_bands(pp, monkeypatch)
    pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "whole")

    def stop(event: RunEvent) -> None:
        if event.message.startswith("step 2 of 3"):
            raise KeyboardInterrupt

    cut = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        pp.generate(ice, PROMPT, method="conditioned", output_dir=cut, on_event=stop)
    assert (cut / "sampling.safetensors").exists()
    pp.generate(ice, PROMPT, method="conditioned", output_dir=cut)
    name = "latents.safetensors"
    assert (cut / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_where_keyframes_count_is_one_of_two_and_decides_the_latents() -> None:
    with pytest.raises(PhysPlanError, match=r"conditioned\.where is 'somewhere'\. Did you"):
        load_config(Config(), {"conditioned.where": "somewhere"})
    whole = load_config(Config(), {"conditioned.where": "everywhere"})
    inputs = Inputs(image="0" * 64, prompt="a ball rolls")
    keys = [deciding_settings(config, inputs, "latents") for config in (Config(), whole)]
    assert keys[0] != keys[1]


def test_with_keyframes_the_clocks_may_be_others(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    def video(**settings: Any) -> Tensor:
        given = recipe(models, gemini.url, "ltx-0.9.5", "ltx095", **settings)
        run = tmp_path / str(len(list(tmp_path.iterdir())))
        made = PhysPlan.from_preset(given).generate(ice, PROMPT, method="conditioned", output_dir=run)
        return made.video

    clocks, others = {"weak": 0.4, "strong": 0.7}, {"weak": 0.8, "strong": 0.9}
    from_sketch = {"start": "sketch"}
    shared = video(sketch=clocks, conditioned=from_sketch)
    own = video(sketch=others, conditioned={**from_sketch, **clocks})
    assert torch.equal(own, shared), "its own come first"
    assert not torch.allclose(video(sketch=others, conditioned=from_sketch), shared, atol=1e-3)


@pytest.mark.parametrize("steps", [30, 50])
def test_home_takes_the_sketch_at_wans_noise_levels(models: Path, steps: int) -> None:
    """Half of LTX's steps with keyframes lie above 0.975: Wan's shares of the steps would be noise there."""
    model = load_video_model(models / "ltx095")
    picture = Image.linear_gradient("L").convert("RGB")
    given = [GivenFrame(frame=8, image=picture)]
    conditioning = tiny_models.prepare(model, picture, keyframes=given, num_inference_steps=steps)
    home = unguided_clocks(load_config("home"), model, conditioned=True)
    for step, share in zip(home.steps(steps), asdict(FLOW).values(), strict=True):
        noisiest, clearest = (shift * (1 - share) / (1 + (shift - 1) * (1 - share)) for shift in (5, 3))
        assert clearest <= conditioning.noise.sigma(step) <= noisiest


@pytest.mark.parametrize(("model", "folder"), [("wan2.2-a14b", "wan22"), ("hunyuan-framepack", "framepack")])
def test_a_keyframe_that_had_to_move_is_in_the_notes(
    model: str, folder: str, models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    pp = PhysPlan.from_preset(recipe(models, gemini.url, model, folder))
    notes = pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "run").notes
    assert sum("is left out: this model has no place for it" in note for note in notes) == 2
    assert any("given at frame 8, the nearest it takes" in note for note in notes)


def test_a_model_that_takes_no_keyframes_is_refused_before_anything_is_paid(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.paper(models, gemini.url))
    with pytest.raises(PhysPlanError, match="takes no keyframes"):
        pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "run")
    with pytest.raises(PhysPlanError, match=r"sandbox takes no keyframes: use .*ltx-0.9.5"):
        PhysPlan.from_preset("sandbox").generate(
            ice, PROMPT, method="conditioned", output_dir=tmp_path / "run"
        )
    assert not gemini.asked
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("model", "folder", "wrong", "told"),
    [
        ("cogvideox-5b", "cogvideox", {"video.eta": 0.5}, "The eta of cogvideox must be 0"),
        ("wan2.2-a14b", "wan22", {"video.use_dynamic_cfg": True}, "no dynamic classifier-free guidance"),
        ("wan2.2-a14b", "wan22", {"video.quantisation": "{gguf}"}, "this model has two"),
        ("cogvideox-5b", "cogvideox", {"video.quantisation": "{gguf}"}, "reads no GGUF file"),
        ("hunyuan-framepack", "framepack", {"video.num_frames": 41}, "one section here, of 5 to 37 frames"),
        ("hunyuan-framepack", "framepack", {"video.source": None}, "are in three repositories: save"),
    ],
)
def test_what_a_folders_model_would_refuse_is_refused_before_anything_is_paid(
    model: str,
    folder: str,
    wrong: dict[str, Any],
    told: str,
    models: Path,
    gemini: GeminiServer,
    ice: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "some.gguf").write_bytes(bytes(4_000_000))
    given = {
        name: value.format(gguf=tmp_path / "some.gguf") if isinstance(value, str) else value
        for name, value in wrong.items()
    }
    pp = PhysPlan.from_preset(recipe(models, gemini.url, model, folder), **given)
    with pytest.raises(PhysPlanError, match=told):
        pp.generate(ice, PROMPT, output_dir=tmp_path / "run")
    assert not gemini.asked
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_said_of_a_published_model_is_what_it_takes(name: str) -> None:
    preset = PUBLISHED[name]
    model = published_on_meta(preset)
    layout = model.check_size(height=preset.height, width=preset.width, num_frames=preset.num_frames)
    last, every = preset.num_frames - 1, 4 if name == "cosmos3-nano" else 1  # whole latents alone
    expected = {"none": (), "last": (last,), "any": tuple(range(every, last + 1, every))}[preset.keyframes]
    assert tuple(model.keyframe_places(layout)) == expected
