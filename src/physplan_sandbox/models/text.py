"""Text conditioning: a word-level tokenizer over the world's prompts and a frozen random T5 encoder.

The vocabulary is small, so random embeddings suffice to tell prompts apart; the video model learns their
meaning.
"""

from __future__ import annotations

import re

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5EncoderModel

from physplan_sandbox.world.phenomena import PHENOMENA

MAX_TOKENS = 12  # tokens per prompt
TEXT_WIDTH = 64


def vocabulary() -> list[str]:
    words = {
        w for p in PHENOMENA.values() for prompt in p.prompts for w in re.findall(r"\w+", prompt.lower())
    }
    return ["<pad>", "</s>", "<unk>", *sorted(words)]


def build_tokenizer() -> PreTrainedTokenizerFast:
    ids = {word: k for k, word in enumerate(vocabulary())}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", ids["</s>"])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=MAX_TOKENS,
    )


def build_text_encoder(seed: int = 0) -> T5EncoderModel:
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(vocabulary()),
        d_model=TEXT_WIDTH,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=4,
        pad_token_id=0,
        eos_token_id=1,
        is_encoder_decoder=False,
        use_cache=False,
    )
    return T5EncoderModel(config).eval().requires_grad_(False)


@torch.no_grad()
def encode_prompts(
    tokenizer: PreTrainedTokenizerFast, encoder: T5EncoderModel, prompts: list[str]
) -> torch.Tensor:
    """[len(prompts), LENGTH, WIDTH]."""
    tokens = tokenizer(
        prompts, padding="max_length", max_length=MAX_TOKENS, truncation=True, return_tensors="pt"
    )
    return encoder(tokens.input_ids).last_hidden_state
