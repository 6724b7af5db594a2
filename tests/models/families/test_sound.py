"""LTX-2's sound is drawn with the picture: the library's sound, behind the frames, not guided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import diffusers
import pytest
import torch
from PIL.Image import Image

from physplan.video.base import FamilyModel
from physplan.video.sampling import sample
from physplan_models.families.ltx2 import Sound
from physplan_models.loading import LoadOptions, load_video_model
from physplan_testing import tiny_models


@pytest.mark.parametrize("newer", [False, True], ids=["2.0", "2.3"])
def test_the_sound_is_the_librarys(newer: bool, tmp_path: Path, picture: Image) -> None:
    """2.3 tells each of the two at what time the other is."""
    torch.manual_seed(0)
    pipe = tiny_models.ltx2_pipeline(tiny_models.tokenizer())
    if newer:
        config = {name: value for name, value in pipe.transformer.config.items() if not name.startswith("_")}
        config |= {"cross_attn_mod": True, "audio_cross_attn_mod": True}
        pipe.transformer = diffusers.LTX2VideoTransformer3DModel.from_config(config)
    pipe.save_pretrained(tmp_path)
    off = {"stg_scale": 0.0, "modality_scale": 1.0, "guidance_rescale": 0.0}
    made = pipe(
        image=picture, prompt="a ball rolls", height=32, width=32, num_frames=9, num_inference_steps=2,
        guidance_scale=6.0, audio_guidance_scale=None, generator=torch.Generator().manual_seed(0),
        output_type="latent", spatio_temporal_guidance_blocks=None, use_cross_timestep=newer,
        **off, **{f"audio_{name}": value for name, value in off.items()},
    )  # fmt: skip
    model = load_video_model(tmp_path, LoadOptions(checkpointing=False))
    conditioning = tiny_models.prepare(model, picture, seed=0)
    latents, layout = sample(model, conditioning), conditioning.layout
    assert latents.shape[2] == layout.num_latents == layout.latents_of_video + layout.behind
    heard = conditioning.inputs["sound"].tokens(latents[:, :, layout.video.stop :])
    expected = pipe._pack_audio_latents(made.audio)
    expected = pipe._normalize_audio_latents(
        expected, pipe.audio_vae.latents_mean, pipe.audio_vae.latents_std
    )
    assert heard.shape == expected.shape
    assert float((heard - expected).abs().max()) <= 1e-5
    assert heard.std() > 0.1
    seen = pipe._normalize_latents(made.frames, pipe.vae.latents_mean, pipe.vae.latents_std)
    assert float((latents[:, :, layout.video] - seen).abs().max()) <= 1e-5


def test_neither_sound_nor_voice_stays_in_memory(load: Callable[..., FamilyModel]) -> None:
    pipe = load("ltx2").pipe  # type: ignore[attr-defined]
    assert pipe.audio_vae is None
    assert pipe.vocoder is None


def test_a_sound_goes_into_latents_and_comes_back() -> None:
    sound, like = Sound(channels=2, length=7, bins=3), torch.zeros(1, 4, 5, 2, 2)
    tokens = torch.randn(2, 7, 6)
    packed = sound.packed(tokens, like)
    assert packed.shape == (2, 4, 3, 2, 2)
    assert torch.equal(sound.tokens(packed), tokens)
