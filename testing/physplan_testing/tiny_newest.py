"""Tiny HunyuanVideo 1.5, Framepack, LTX-2 and Cosmos 3 pipelines of the real classes, random weights."""

from __future__ import annotations

import torch
from diffusers import (
    AutoencoderKLHunyuanVideo,
    AutoencoderKLHunyuanVideo15,
    AutoencoderKLLTX2Audio,
    AutoencoderKLLTX2Video,
    AutoencoderKLWan,
    ClassifierFreeGuidance,
    Cosmos3OmniPipeline,
    Cosmos3OmniTransformer,
    FlowMatchEulerDiscreteScheduler,
    HunyuanVideo15ImageToVideoPipeline,
    HunyuanVideo15Transformer3DModel,
    HunyuanVideoFramepackPipeline,
    HunyuanVideoFramepackTransformer3DModel,
    LTX2ImageToVideoPipeline,
    LTX2VideoTransformer3DModel,
)
from diffusers.pipelines.ltx2 import LTX2TextConnectors
from diffusers.pipelines.ltx2.vocoder import LTX2Vocoder
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    ByT5Tokenizer,
    CLIPTextConfig,
    CLIPTextModel,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma4UnifiedConfig,
    Gemma4UnifiedForConditionalGeneration,
    Gemma4UnifiedTextConfig,
    LlamaConfig,
    LlamaModel,
    PreTrainedTokenizerBase,
    Qwen2Tokenizer,
    SiglipImageProcessor,
    SiglipVisionConfig,
    SiglipVisionModel,
    T5Config,
    T5EncoderModel,
)
from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLTextConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel

CHAT = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
WIDTH = 16  # of the text encoders


def hunyuan15_pipeline(*, use_meanflow: bool = False) -> HunyuanVideo15ImageToVideoPipeline:
    """Its library chooses the video's size from the picture's: here 32 x 32 pixels or as many in all."""
    letters = _byte_tokenizer()
    transformer = HunyuanVideo15Transformer3DModel(
        in_channels=2 * 4 + 1,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        num_refiner_layers=1,
        mlp_ratio=2.0,
        text_embed_dim=WIDTH,
        text_embed_2_dim=32,
        image_embed_dim=8,
        rope_axes_dim=(4, 6, 6),
        target_size=32,
        use_meanflow=use_meanflow,
    )
    vae = AutoencoderKLHunyuanVideo15(
        latent_channels=4,
        block_out_channels=(8, 8, 8, 8),
        layers_per_block=1,
        spatial_compression_ratio=8,
        temporal_compression_ratio=4,
    )
    words = Qwen2_5_VLTextConfig(
        bos_token_id=0,
        eos_token_id=0,
        vocab_size=len(letters),
        hidden_size=WIDTH,
        intermediate_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
    )
    glyphs = T5Config(
        vocab_size=384, d_model=32, d_ff=16, d_kv=8, num_heads=2, num_layers=1, dropout_rate=0.0
    )
    vision = SiglipVisionConfig(
        hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=216,
        patch_size=8,
    )  # fmt: skip
    return HunyuanVideo15ImageToVideoPipeline(
        text_encoder=Qwen2_5_VLTextModel(words),
        tokenizer=letters,
        transformer=transformer,
        vae=vae,
        scheduler=FlowMatchEulerDiscreteScheduler(shift=5.0),
        text_encoder_2=T5EncoderModel(glyphs),
        tokenizer_2=ByT5Tokenizer(),
        guider=ClassifierFreeGuidance(guidance_scale=6.0),
        image_encoder=SiglipVisionModel(vision),
        feature_extractor=SiglipImageProcessor(size={"height": 216, "width": 216}),
    )


def framepack_pipeline(tokenizer: PreTrainedTokenizerBase) -> HunyuanVideoFramepackPipeline:
    transformer = HunyuanVideoFramepackTransformer3DModel(
        in_channels=4,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=1,
        num_single_layers=1,
        num_refiner_layers=1,
        mlp_ratio=2.0,
        text_embed_dim=WIDTH,
        pooled_projection_dim=8,
        rope_axes_dim=(4, 6, 6),
        has_image_proj=True,
        image_proj_dim=8,
        has_clean_x_embedder=True,
    )
    vae = AutoencoderKLHunyuanVideo(
        latent_channels=4, block_out_channels=(8, 8, 8, 8), layers_per_block=1, norm_num_groups=4
    )
    small = {"num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 16}
    words = {"vocab_size": len(tokenizer), "eos_token_id": tokenizer.eos_token_id, **small}
    return HunyuanVideoFramepackPipeline(
        text_encoder=LlamaModel(LlamaConfig(hidden_size=WIDTH, num_key_value_heads=2, **words)),
        tokenizer=tokenizer,
        transformer=transformer,
        vae=vae,
        scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0),
        text_encoder_2=CLIPTextModel(CLIPTextConfig(hidden_size=8, projection_dim=8, **words)),
        tokenizer_2=tokenizer,
        image_encoder=SiglipVisionModel(
            SiglipVisionConfig(hidden_size=8, image_size=216, patch_size=8, **small)
        ),
        feature_extractor=SiglipImageProcessor(size={"height": 216, "width": 216}),
    )


def ltx25_pipeline(tokenizer: PreTrainedTokenizerBase) -> LTX2ImageToVideoPipeline:
    """Distilled: a schedule that is not shifted. Gemma 4 reads the words."""
    pipe = ltx2_pipeline(
        tokenizer,
        gated_attn=True,
        cross_attn_mod=True,
        audio_gated_attn=True,
        audio_cross_attn_mod=True,
        use_prompt_embeddings=False,
        ff_bias=False,
        use_keyframes_abs_pos_embedding=True,
    )
    text = pipe.text_encoder.config.text_config
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    words = Gemma4UnifiedTextConfig(
        **{name: getattr(text, name) for name in names},
        num_key_value_heads=2,
        head_dim=8,
        layer_types=["sliding_attention", "full_attention"],
    )
    small = {"mm_embed_dim": 8, "output_proj_dims": 8, "mm_posemb_size": 8}
    config = Gemma4UnifiedConfig(text_config=words, vision_config=small, audio_config={"audio_embed_dim": 8})
    pipe.register_modules(
        text_encoder=Gemma4UnifiedForConditionalGeneration(config),
        connectors=LTX2TextConnectors(
            caption_channels=WIDTH,
            text_proj_in_factor=words.num_hidden_layers + 1,
            video_connector_num_attention_heads=4,
            video_connector_attention_head_dim=8,
            video_connector_num_layers=1,
            video_connector_num_learnable_registers=16,
            video_gated_attn=True,
            audio_connector_num_attention_heads=2,
            audio_connector_attention_head_dim=8,
            audio_connector_num_layers=1,
            audio_connector_num_learnable_registers=16,
            audio_gated_attn=True,
            rope_type="split",
            per_modality_projections=True,
            video_hidden_dim=32,
            audio_hidden_dim=16,
            proj_bias=True,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=False),
    )
    return pipe


def ltx2_pipeline(tokenizer: PreTrainedTokenizerBase, **newer: bool) -> LTX2ImageToVideoPipeline:
    layers, heads = 2, {"num_attention_heads": 4, "attention_head_dim": 8}
    transformer = LTX2VideoTransformer3DModel(
        in_channels=8,
        out_channels=8,
        cross_attention_dim=32,
        audio_in_channels=4,
        audio_out_channels=4,
        audio_num_attention_heads=2,
        audio_attention_head_dim=8,
        audio_cross_attention_dim=16,
        num_layers=2,
        caption_channels=WIDTH,
        rope_type="split",
        vae_scale_factors=(8, 8, 8),  # of the autoencoder below; the real ones agree too
        **heads,
        **newer,
    )
    vae = AutoencoderKLLTX2Video(
        latent_channels=8,
        block_out_channels=(8, 8, 8, 8),
        decoder_block_out_channels=(8, 8, 8),
        layers_per_block=(1, 1, 1, 1, 1),
        decoder_layers_per_block=(1, 1, 1, 1),
        upsample_residual=(False, False, False),
        upsample_factor=(1, 1, 1),
        patch_size=1,
        encoder_causal=True,
        decoder_causal=False,
        spatial_compression_ratio=8,
        temporal_compression_ratio=8,
    )
    vae.latents_mean += 0.1 * torch.arange(8)
    vae.latents_std += 0.1 * torch.arange(8)
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 16,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 8,
    }
    vision = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    gemma = Gemma3ForConditionalGeneration(Gemma3Config(text_config=text, vision_config=vision))
    return LTX2ImageToVideoPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(
            use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05, base_image_seq_len=1024,
            max_image_seq_len=4096, shift_terminal=0.1,
        ),
        vae=vae,
        audio_vae=AutoencoderKLLTX2Audio(
            base_channels=4, ch_mult=(1,), num_res_blocks=1, resolution=32, latent_channels=2, mel_bins=8
        ),
        text_encoder=gemma,
        tokenizer=tokenizer,
        connectors=LTX2TextConnectors(
            caption_channels=WIDTH,
            text_proj_in_factor=layers + 1,
            video_connector_num_attention_heads=2,
            video_connector_attention_head_dim=8,
            video_connector_num_layers=1,
            video_connector_num_learnable_registers=16,
            audio_connector_num_attention_heads=2,
            audio_connector_attention_head_dim=8,
            audio_connector_num_layers=1,
            audio_connector_num_learnable_registers=16,
            rope_type="split",
        ),
        transformer=transformer,
        vocoder=LTX2Vocoder(
            in_channels=16, hidden_channels=8, upsample_kernel_sizes=[4, 4], upsample_factors=[2, 2],
            resnet_kernel_sizes=[3], resnet_dilations=[[1]], output_sampling_rate=16000,
        ),
    )  # fmt: skip


def cosmos3_pipeline(vae: AutoencoderKLWan) -> Cosmos3OmniPipeline:
    """Its transformer reads the words itself; no guardrail."""
    letters = _byte_tokenizer()
    letters.add_tokens(["<|vision_start|>"])
    patch = 2
    transformer = Cosmos3OmniTransformer(
        head_dim=16,
        hidden_size=32,
        intermediate_size=32,
        latent_channel=vae.config.z_dim,
        latent_patch_size=patch,
        num_attention_heads=2,
        num_hidden_layers=2,
        num_key_value_heads=1,
        patch_latent_dim=patch**2 * vae.config.z_dim,
        rope_axes_dim=(4, 2, 2),
        vocab_size=len(letters),
    )
    return Cosmos3OmniPipeline(
        transformer=transformer,
        text_tokenizer=letters,
        vae=vae,
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        enable_safety_checker=False,
    )


def _byte_tokenizer() -> Qwen2Tokenizer:
    vocabulary = {"<|endoftext|>": 0, **{c: k for k, c in enumerate(sorted(ByteLevel.alphabet()), start=1)}}
    tokenizer = Qwen2Tokenizer(vocab=vocabulary, merges=[])
    tokenizer.chat_template = CHAT
    return tokenizer
