"""Tiny random models of the real classes, saved as folders that `from_pretrained` reads."""

from __future__ import annotations

import string
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    Blip2Config,
    Blip2ForConditionalGeneration,
    Blip2QFormerConfig,
    Blip2VisionConfig,
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPTokenizer,
    CLIPVisionConfig,
    PreTrainedTokenizerFast,
    T5Config,
    VideoMAEConfig,
    VideoMAEForVideoClassification,
    ViTConfig,
    ViTModel,
)

SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def clip(folder: Path) -> str:
    torch.manual_seed(0)
    letters = string.ascii_lowercase + string.punctuation
    tokens = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = CLIPTokenizer(
        vocab={token: i for i, token in enumerate(tokens)}, merges=[], model_max_length=77
    )
    tokenizer.save_pretrained(folder)
    text = CLIPTextConfig(
        **SMALL,
        vocab_size=len(tokens),
        max_position_embeddings=77,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        projection_dim=12,
    )
    vision = CLIPVisionConfig(**SMALL, image_size=32, patch_size=16, projection_dim=12)
    config = CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=12)
    CLIPModel(config).save_pretrained(folder)
    return str(folder)


def blip2(folder: Path) -> str:
    torch.manual_seed(0)
    pieces = [
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        *((c, -4.0) for c in string.printable),
        ("▁", -3.0),
    ]
    core = Tokenizer(models.Unigram(pieces, unk_id=2))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    text = T5Config(
        vocab_size=128, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    config = Blip2Config(
        vision_config=Blip2VisionConfig(**SMALL, image_size=32, patch_size=16).to_dict(),
        qformer_config=Blip2QFormerConfig(**SMALL, encoder_hidden_size=16, vocab_size=64).to_dict(),
        text_config=text.to_dict(),
        num_query_tokens=4,
        image_token_index=127,
    )
    Blip2ForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


def dino(folder: Path) -> str:
    torch.manual_seed(0)
    ViTModel(ViTConfig(**SMALL, image_size=32, patch_size=8), add_pooling_layer=False).save_pretrained(folder)
    return str(folder)


def videomae(folder: Path) -> str:
    torch.manual_seed(0)
    config = VideoMAEConfig(**SMALL, image_size=32, patch_size=16, num_frames=4, num_labels=3)
    VideoMAEForVideoClassification(config).save_pretrained(folder)
    return str(folder)
