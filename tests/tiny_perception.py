"""Tiny random perception models of the real classes, saved as folders that `from_pretrained` reads."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertTokenizer,
    CLIPTextConfig,
    CLIPTokenizer,
    DepthAnythingConfig,
    DepthAnythingForDepthEstimation,
    Dinov2Config,
    Dinov2Model,
    DINOv3ViTConfig,
    DINOv3ViTModel,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    Sam2Config,
    Sam2Model,
    Sam3Config,
    Sam3Model,
    SwinConfig,
)

WORDS = ("ice", "cube", "tray", "puddle", "water", "ball", "red", "glass", "cup", "mug")


def dinov2(folder: Path) -> Path:
    torch.manual_seed(0)
    config = Dinov2Config(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=28,
        patch_size=14,
        initializer_range=0.3,
    )
    Dinov2Model(config).save_pretrained(folder)
    return folder


def dinov3(folder: Path) -> Path:
    torch.manual_seed(0)
    config = DINOv3ViTConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_register_tokens=4,
        image_size=32,
        patch_size=16,
    )
    DINOv3ViTModel(config).save_pretrained(folder)
    return folder


def depth_anything(folder: Path, *, kind: str = "relative") -> Path:
    torch.manual_seed(0)
    backbone = Dinov2Config(
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=28,
        patch_size=14,
        out_indices=[1, 2, 3, 4],
        reshape_hidden_states=False,
        initializer_range=0.3,
    )
    config = DepthAnythingConfig(
        backbone_config=backbone,
        patch_size=14,
        reassemble_hidden_size=16,
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        head_hidden_size=8,
        depth_estimation_type=kind,
        initializer_range=0.3,
    )
    DepthAnythingForDepthEstimation(config).save_pretrained(folder)
    return folder


def grounding_dino(folder: Path) -> Path:
    """With a BERT tokenizer whose special ids are the real ones: the detector relies on them."""
    torch.manual_seed(0)
    vocabulary = bert_vocabulary()
    backbone = SwinConfig(
        image_size=32,
        patch_size=4,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=4,
        out_indices=[2, 3, 4],
    )
    text = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=256,
    )
    config = GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=8,
        disable_custom_kernels=True,
    )
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    return folder


def bert_vocabulary() -> dict[str, int]:
    names = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
    names |= {1030 + index: word for index, word in enumerate(WORDS)}
    return {names.get(index, f"[unused{index}]"): index for index in range(max(names) + 1)}


def sam2(folder: Path) -> Path:
    torch.manual_seed(0)
    config = Sam2Config(
        vision_config={
            "backbone_config": {
                "model_type": "sam2_hiera_det_model",
                "image_size": [64, 64],
                "hidden_size": 8,
                "num_attention_heads": 1,
                "blocks_per_stage": [1, 1, 1, 1],
                "embed_dim_per_stage": [8, 16, 32, 64],
                "num_attention_heads_per_stage": [1, 1, 1, 1],
                "window_size_per_stage": [4, 4, 4, 2],
                "global_attention_blocks": [],
                "window_positional_embedding_background_size": [4, 4],
            },
            "backbone_channel_list": [64, 32, 16, 8],
            "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
            "fpn_hidden_size": 32,
        },
        prompt_encoder_config={
            "hidden_size": 32,
            "image_size": 64,
            "patch_size": 16,
            "mask_input_channels": 4,
        },
        mask_decoder_config={
            "hidden_size": 32,
            "mlp_dim": 32,
            "num_attention_heads": 2,
            "num_hidden_layers": 1,
            "iou_head_hidden_dim": 16,
        },
    )
    Sam2Model(config).save_pretrained(folder)
    return folder


def sam3(folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = clip_tokenizer(folder)
    layers = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 32, "num_layers": 1}
    config = Sam3Config(
        vision_config={
            "backbone_config": {
                "model_type": "sam3_vit_model",
                "hidden_size": 16,
                "intermediate_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 56,
                "patch_size": 14,
                "window_size": 2,
                "global_attn_indexes": [1],
                "pretrain_image_size": 28,
            },
            "fpn_hidden_size": 32,
            "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        },
        text_config=CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            projection_dim=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=32,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        ).to_dict(),
        geometry_encoder_config={**layers, "roi_size": 2},
        detr_encoder_config=layers,
        detr_decoder_config={**layers, "num_queries": 6},
        mask_decoder_config={"hidden_size": 32, "num_attention_heads": 2},
    )
    Sam3Model(config).save_pretrained(folder)
    return folder


def clip_tokenizer(folder: Path) -> CLIPTokenizer:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789#"
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = CLIPTokenizer(
        vocab={token: index for index, token in enumerate(tokens)}, merges=[], model_max_length=77
    )
    tokenizer.save_pretrained(folder)
    return tokenizer
