"""Tiny random image-editing pipelines of the real diffusers classes, saved as folders."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from diffusers import (
    AutoencoderKL,
    AutoencoderKLFlux2,
    AutoencoderKLQwenImage,
    ChronoEditPipeline,
    ChronoEditTransformer3DModel,
    DiffusionPipeline,
    FlowMatchEulerDiscreteScheduler,
    Flux2KleinPipeline,
    Flux2Transformer2DModel,
    FluxKontextPipeline,
    FluxTransformer2DModel,
    QwenImageEditPipeline,
    QwenImageEditPlusPipeline,
    QwenImageLayeredPipeline,
    QwenImageTransformer2DModel,
    WanImageToVideoPipeline,
)
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2Tokenizer,
    Qwen3Config,
    Qwen3ForCausalLM,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from physplan_models.keyframes.diffusers import PictureProcessor
from physplan_testing import tiny_models
from tiny_perception import clip_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;'()#"


def flux_kontext(folder: Path) -> Path:
    torch.manual_seed(0)
    clip = clip_tokenizer(folder / "tokenizer")
    t5 = t5_tokenizer()
    pipeline = FluxKontextPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=AutoencoderKL(
            block_out_channels=(4, 4),
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            norm_num_groups=1,
            latent_channels=1,
            sample_size=32,
            use_quant_conv=False,
            use_post_quant_conv=False,
            shift_factor=0.1,
            scaling_factor=0.4,
        ),
        text_encoder=CLIPTextModel(
            CLIPTextConfig(
                vocab_size=len(clip),
                hidden_size=32,
                intermediate_size=32,
                num_hidden_layers=1,
                num_attention_heads=2,
                projection_dim=32,
                bos_token_id=clip.bos_token_id,
                eos_token_id=clip.eos_token_id,
            )
        ),
        tokenizer=clip,
        text_encoder_2=T5EncoderModel(
            T5Config(vocab_size=len(t5), d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
        ),
        tokenizer_2=t5,
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        ),
    )
    pipeline.save_pretrained(folder)
    return folder


def flux2_klein(folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = qwen_tokenizer()
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    tokenizer.pad_token = "<|im_end|>"
    words = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=28,  # the words are what layers 9, 18 and 27 make of them
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
    )
    vae = AutoencoderKLFlux2(
        block_out_channels=(4, 4),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        layers_per_block=1,
        norm_num_groups=1,
        latent_channels=2,
    )
    pipeline = Flux2KleinPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=vae,
        text_encoder=Qwen3ForCausalLM(words),
        tokenizer=tokenizer,
        transformer=Flux2Transformer2DModel(
            in_channels=8,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=3 * 16,
            timestep_guidance_channels=16,
            axes_dims_rope=(4, 4, 4, 4),
            guidance_embeds=False,
        ),
        is_distilled=True,
    )
    pipeline.save_pretrained(folder)
    return folder


def chronoedit(folder: Path) -> Path:
    """Wan 2.1's parts with a transformer of its own."""
    wan = WanImageToVideoPipeline.from_pretrained(tiny_models.build("wan", folder.with_name("chrono-wan")))
    torch.manual_seed(0)
    known = ChronoEditTransformer3DModel.__init__.__wrapped__.__code__.co_varnames
    settings = {name: value for name, value in wan.transformer.config.items() if name in known}
    parts = ("tokenizer", "text_encoder", "image_encoder", "image_processor", "vae", "scheduler")
    pipeline = ChronoEditPipeline(
        transformer=ChronoEditTransformer3DModel(**settings), **{name: getattr(wan, name) for name in parts}
    )
    pipeline.save_pretrained(folder)
    return folder


def qwen_image_edit_plus(folder: Path) -> Path:
    return qwen_image_edit(folder, QwenImageEditPlusPipeline)


def qwen_image_layered(folder: Path) -> Path:
    return qwen_image_edit(folder, QwenImageLayeredPipeline)


def qwen_image_edit(folder: Path, kind: type[DiffusionPipeline] = QwenImageEditPipeline) -> Path:
    torch.manual_seed(0)
    layered = kind is QwenImageLayeredPipeline
    channels = 8 if layered else 4  # of latents; a picture with opacity has 4, and would be taken for latents
    tokenizer = qwen_tokenizer()
    config = Qwen2_5_VLConfig(
        text_config={
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "rope_parameters": {
                "mrope_section": [1, 1, 2],
                "rope_type": "default",
                "type": "default",
                "rope_theta": 10000.0,
            },
            "vocab_size": len(tokenizer),
        },
        vision_config={
            "depth": 2,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_heads": 2,
            "out_hidden_size": 16,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        vision_start_token_id=tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
    )
    pipeline = kind(
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=AutoencoderKLQwenImage(
            base_dim=4,
            z_dim=channels,
            dim_mult=[1, 1],
            num_res_blocks=1,
            temperal_downsample=[False],
            latents_mean=[0.0] * channels,
            latents_std=[1.0] * channels,
            input_channels=4 if layered else 3,  # with opacity
        ),
        text_encoder=Qwen2_5_VLForConditionalGeneration(config),
        tokenizer=tokenizer,
        processor=PictureProcessor(image_processor=Qwen2VLImageProcessorPil(), tokenizer=tokenizer),
        transformer=QwenImageTransformer2DModel(
            patch_size=2,
            in_channels=4 * channels,
            out_channels=channels,
            num_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=16,
            guidance_embeds=False,
            axes_dims_rope=(8, 4, 4),
            use_additional_t_cond=layered,
            use_layer3d_rope=layered,
        ),
    )
    pipeline.save_pretrained(folder)
    # As it is in the published pipeline.
    index = folder / "model_index.json"
    content = json.loads(index.read_text())
    content["processor"] = ["transformers", "Qwen2VLProcessor"]
    index.write_text(json.dumps(content))
    return folder


def t5_tokenizer() -> T5TokenizerFast:
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -1.0)]
    vocabulary += [(letter, -2.0) for letter in LETTERS]
    tokenizer = Tokenizer(Unigram(vocabulary, unk_id=2))
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return T5TokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", extra_ids=0
    )


def qwen_tokenizer() -> Qwen2Tokenizer:
    """Byte by byte, with the special tokens of the real one."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    vocabulary = {letter: index for index, letter in enumerate(bytes_to_unicode().values())}
    tokenizer = Qwen2Tokenizer(vocab=vocabulary, merges=[])
    special = ("im_start", "im_end", "vision_start", "vision_end", "image_pad", "video_pad")
    tokenizer.add_special_tokens({"additional_special_tokens": [f"<|{name}|>" for name in special]})
    return tokenizer
