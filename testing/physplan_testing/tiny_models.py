"""Tiny random video models of the real classes, saved as folders that a user's `from_pretrained` reads.

Small enough for one core: 2 layers, 8 to 16 channels. `build(name, folder)` saves one; NAMES lists them;
`prepare` makes a run ready.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKLCogVideoX,
    AutoencoderKLLTXVideo,
    AutoencoderKLTemporalDecoder,
    AutoencoderKLWan,
    CogVideoXDDIMScheduler,
    CogVideoXImageToVideoPipeline,
    CogVideoXTransformer3DModel,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    LTXImageToVideoPipeline,
    LTXVideoTransformer3DModel,
    StableVideoDiffusionPipeline,
    UNetSpatioTemporalConditionModel,
    WanImageToVideoPipeline,
    WanTransformer3DModel,
    WanVACEPipeline,
    WanVACETransformer3DModel,
)
from PIL.Image import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    CLIPVisionModel,
    CLIPVisionModelWithProjection,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
    UMT5Config,
    UMT5EncoderModel,
)

from physplan.video.base import FamilyModel
from physplan.video.protocol import Conditioning, VideoRequest
from physplan_testing.tiny_newest import (
    cosmos3_pipeline,
    framepack_pipeline,
    hunyuan15_pipeline,
    ltx2_pipeline,
    ltx25_pipeline,
)

WORDS = ("a", "an", "ice", "cube", "ball", "rolls", "melts", "on", "the", "tray", "slowly", "blurry")
TEXT_LENGTH = 16


def cogvideox(folder: Path) -> None:
    _cogvideox().save_pretrained(folder)


def cogvideox15(folder: Path) -> None:
    _cogvideox(patch_size_t=2, ofs_embed_dim=2, patch_bias=False).save_pretrained(folder)


def wan(folder: Path) -> None:
    """2.1: a CLIP encoder sees the picture."""
    _wan(image_dim=8, added_kv_proj_dim=24, boundary_ratio=None).save_pretrained(folder)


def wan22(folder: Path) -> None:
    """2.2 A14B: two denoisers, no CLIP."""
    _wan(boundary_ratio=0.6).save_pretrained(folder)


def wan22_5b(folder: Path) -> None:
    """2.2 TI2V-5B: the first latent stays clean, the autoencoder is residual and patched."""
    _wan(boundary_ratio=None, expand_timesteps=True).save_pretrained(folder)


def wan_flf(folder: Path) -> None:
    """2.1 FLF2V: a first and a last frame."""
    _wan(image_dim=8, added_kv_proj_dim=24, pos_embed_seq_len=514).save_pretrained(folder)


def wan_vace(folder: Path) -> None:
    _wan_vace().save_pretrained(folder)


def wan22_vace(folder: Path) -> None:
    """2.2: two denoisers."""
    _wan_vace(boundary_ratio=0.6).save_pretrained(folder)


def ltx(folder: Path) -> None:
    _ltx().save_pretrained(folder)


def ltx095(folder: Path) -> None:
    """From 0.9.5 on: another schedule, and keyframes."""
    pipe = _ltx()
    pipe.scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=False)
    pipe.save_pretrained(folder)


def svd(folder: Path) -> None:
    _svd().save_pretrained(folder)


def ltx2(folder: Path) -> None:
    """The sound is drawn with the picture."""
    ltx2_pipeline(tokenizer()).save_pretrained(folder)


def ltx25(folder: Path) -> None:
    """The distilled LTX-2.5."""
    ltx25_pipeline(tokenizer()).save_pretrained(folder)


def hunyuan15(folder: Path) -> None:
    hunyuan15_pipeline().save_pretrained(folder)


def hunyuan15_meanflow(folder: Path) -> None:
    """Distilled to few steps: it is told where a step lands."""
    hunyuan15_pipeline(use_meanflow=True).save_pretrained(folder)


def framepack(folder: Path) -> None:
    framepack_pipeline(tokenizer()).save_pretrained(folder)


def cosmos3(folder: Path) -> None:
    cosmos3_pipeline(_wan(expand_timesteps=True).vae).save_pretrained(folder)


BUILDERS: dict[str, Callable[[Path], None]] = {
    b.__name__: b
    for b in (
        *(cogvideox, cogvideox15, wan, wan22, wan22_5b, ltx, ltx2, hunyuan15, hunyuan15_meanflow, svd),
        cosmos3,
        framepack,
    )
}
NAMES = tuple(BUILDERS)
KEYFRAMED: dict[str, Callable[[Path], None]] = {
    b.__name__: b for b in (wan_flf, wan_vace, wan22_vace, ltx095, ltx25)
}


def build(name: str, folder: Path) -> Path:
    """Save the tiny model `name` in `folder`, always with the same weights."""
    if not (folder / "model_index.json").exists():
        torch.manual_seed(0)
        (BUILDERS | KEYFRAMED)[name](folder)
    return folder


def prepare(model: FamilyModel, picture: Image, *, seed: int = 0, **changes: Any) -> Conditioning:
    """A short run of a tiny model; `changes` are other fields of the `VideoRequest`."""
    side, frames = (16, 5) if model.name == "svd" else (32, 9)
    arguments: dict[str, Any] = {
        "image": picture, "prompt": "a ball rolls", "height": side, "width": side, "num_frames": frames,
        "num_inference_steps": 2, "guidance_scale": 6.0, "generator": torch.Generator().manual_seed(seed),
    }  # fmt: skip
    return model.prepare(VideoRequest(**{**arguments, **changes}))


def tokenizer() -> T5TokenizerFast:
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(f"▁{word}", -1.0) for word in WORDS]
    core = Tokenizer(models.Unigram(pieces, unk_id=2))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return T5TokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", extra_ids=0
    )


def _t5(kind: Any = T5EncoderModel, config: Any = T5Config, width: int = 32) -> Any:
    return kind(
        config(
            vocab_size=len(WORDS) + 4,
            d_model=width,
            d_ff=16,
            d_kv=8,
            num_heads=2,
            num_layers=1,
            dropout_rate=0.0,
        )
    )


def _cogvideox(
    patch_size_t: int | None = None, ofs_embed_dim: int | None = None, patch_bias: bool = True
) -> CogVideoXImageToVideoPipeline:
    transformer = CogVideoXTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=8,
        out_channels=4,
        time_embed_dim=2,
        ofs_embed_dim=ofs_embed_dim,
        text_embed_dim=32,
        num_layers=2,
        sample_width=8,
        sample_height=8,
        sample_frames=9,
        patch_size=2,
        patch_size_t=patch_size_t,
        patch_bias=patch_bias,
        temporal_compression_ratio=4,
        max_text_seq_length=TEXT_LENGTH,
        use_rotary_positional_embeddings=True,
    )
    vae = AutoencoderKLCogVideoX(
        down_block_types=("CogVideoXDownBlock3D",) * 4,
        up_block_types=("CogVideoXUpBlock3D",) * 4,
        block_out_channels=(8, 8, 8, 8),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=2,
        temporal_compression_ratio=4,
        sample_height=96,
        sample_width=160,
    )
    scheduler = CogVideoXDDIMScheduler(
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
        snr_shift_scale=1.0,
        set_alpha_to_one=True,
        clip_sample=False,
    )
    return CogVideoXImageToVideoPipeline(
        tokenizer=tokenizer(), text_encoder=_t5(), vae=vae, transformer=transformer, scheduler=scheduler
    )


def _wan(
    image_dim: int | None = None,
    added_kv_proj_dim: int | None = None,
    boundary_ratio: float | None = None,
    expand_timesteps: bool = False,
    pos_embed_seq_len: int | None = None,
) -> WanImageToVideoPipeline:
    z_dim = 16 if not expand_timesteps else 8
    patched = {
        "in_channels": 12,
        "out_channels": 12,
        "patch_size": 2,
        "scale_factor_spatial": 16,
        "is_residual": True,
    }
    vae = AutoencoderKLWan(
        base_dim=3,
        z_dim=z_dim,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        latents_mean=[0.1 * k for k in range(z_dim)],
        latents_std=[1.0 + 0.1 * k for k in range(z_dim)],
        **(patched if expand_timesteps else {}),
    )

    def transformer() -> WanTransformer3DModel:
        return WanTransformer3DModel(
            patch_size=(1, 2, 2),
            num_attention_heads=2,
            attention_head_dim=12,
            in_channels=z_dim if expand_timesteps else 2 * z_dim + 4,
            out_channels=z_dim,
            text_dim=32,
            freq_dim=256,
            ffn_dim=32,
            num_layers=2,
            cross_attn_norm=True,
            qk_norm="rms_norm_across_heads",
            rope_max_seq_len=32,
            image_dim=image_dim,
            added_kv_proj_dim=added_kv_proj_dim,
            pos_embed_seq_len=pos_embed_seq_len,
        )

    vision = CLIPVisionConfig(
        hidden_size=8, projection_dim=8, num_hidden_layers=2, num_attention_heads=2, image_size=224,
        intermediate_size=16, patch_size=14,
    )  # fmt: skip
    return WanImageToVideoPipeline(
        tokenizer=tokenizer(),
        text_encoder=_t5(UMT5EncoderModel, UMT5Config),
        vae=vae,
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        transformer=transformer(),
        transformer_2=None if boundary_ratio is None else transformer(),
        boundary_ratio=boundary_ratio,
        image_encoder=None if image_dim is None else CLIPVisionModel(vision),
        image_processor=None if image_dim is None else CLIPImageProcessor(crop_size=224, size=224),
        expand_timesteps=expand_timesteps,
    )


def _wan_vace(boundary_ratio: float | None = None) -> WanVACEPipeline:
    pipe = _wan()
    return WanVACEPipeline(
        tokenizer=pipe.tokenizer,
        text_encoder=pipe.text_encoder,
        vae=pipe.vae,
        scheduler=pipe.scheduler,
        transformer=_vace_transformer(),
        transformer_2=None if boundary_ratio is None else _vace_transformer(),
        boundary_ratio=boundary_ratio,
    )


def _vace_transformer() -> WanVACETransformer3DModel:
    transformer = WanVACETransformer3DModel(
        patch_size=(1, 2, 2),
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=16,
        out_channels=16,
        text_dim=32,
        freq_dim=256,
        ffn_dim=32,
        num_layers=3,
        cross_attn_norm=True,
        qk_norm="rms_norm_across_heads",
        rope_max_seq_len=32,
        vace_layers=[0, 2],
        vace_in_channels=96,
    )
    for weight in transformer.vace_blocks.parameters():
        torch.nn.init.normal_(weight, std=0.3)  # the library starts them at zero: they would do nothing
    return transformer


def _ltx() -> LTXImageToVideoPipeline:
    transformer = LTXVideoTransformer3DModel(
        in_channels=8,
        out_channels=8,
        patch_size=1,
        patch_size_t=1,
        num_attention_heads=4,
        attention_head_dim=8,
        cross_attention_dim=32,
        num_layers=2,
        caption_channels=32,
    )
    vae = AutoencoderKLLTXVideo(
        in_channels=3,
        out_channels=3,
        latent_channels=8,
        block_out_channels=(8, 8, 8, 8),
        decoder_block_out_channels=(8, 8, 8, 8),
        layers_per_block=(1, 1, 1, 1, 1),
        decoder_layers_per_block=(1, 1, 1, 1, 1),
        spatio_temporal_scaling=(True, True, True, False),
        decoder_spatio_temporal_scaling=(True, True, True, False),
        decoder_inject_noise=(False, False, False, False, False),
        upsample_residual=(False, False, False, False),
        upsample_factor=(1, 1, 1, 1),
        timestep_conditioning=False,
        patch_size=1,
        patch_size_t=1,
        encoder_causal=True,
        decoder_causal=False,
    )
    scheduler = FlowMatchEulerDiscreteScheduler(
        use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05, base_image_seq_len=1024,
        max_image_seq_len=4096, shift_terminal=0.1,
    )  # fmt: skip
    return LTXImageToVideoPipeline(
        tokenizer=tokenizer(), text_encoder=_t5(), vae=vae, transformer=transformer, scheduler=scheduler
    )


def _svd() -> StableVideoDiffusionPipeline:
    unet = UNetSpatioTemporalConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=16,
        in_channels=8,
        out_channels=4,
        down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
        cross_attention_dim=16,
        num_attention_heads=2,
        projection_class_embeddings_input_dim=48,
        addition_time_embed_dim=16,
    )
    vae = AutoencoderKLTemporalDecoder(
        block_out_channels=(32, 32),
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        latent_channels=4,
        layers_per_block=1,
        force_upcast=False,
    )
    vision = CLIPVisionConfig(
        hidden_size=16, projection_dim=16, num_hidden_layers=1, num_attention_heads=2, image_size=224,
        intermediate_size=16, patch_size=56,
    )  # fmt: skip
    scheduler = EulerDiscreteScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        interpolation_type="linear",
        num_train_timesteps=1000,
        prediction_type="v_prediction",
        sigma_max=700.0,
        sigma_min=0.002,
        steps_offset=1,
        timestep_spacing="leading",
        timestep_type="continuous",
        use_karras_sigmas=True,
    )
    return StableVideoDiffusionPipeline(
        vae=vae,
        image_encoder=CLIPVisionModelWithProjection(vision),
        unet=unet,
        scheduler=scheduler,
        feature_extractor=CLIPImageProcessor(crop_size=224, size=224),
    )
