"""A tiny random SkyReels-V2: Wan 2.1's components with SkyReels' transformer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from diffusers import (
    SkyReelsV2ImageToVideoPipeline,
    SkyReelsV2Transformer3DModel,
    WanImageToVideoPipeline,
)

from physplan_testing import tiny_models


def build(folder: Path) -> SkyReelsV2ImageToVideoPipeline:
    """The pipeline, saved in `folder`; the Wan whose parts it has lies beside it."""
    wan = folder.with_name(f"{folder.name}-wan")
    tiny_models.BUILDERS["wan"](wan)
    like: Any = WanImageToVideoPipeline.from_pretrained(wan)
    torch.manual_seed(0)
    known = SkyReelsV2Transformer3DModel.__init__.__wrapped__.__code__.co_varnames
    settings = {name: value for name, value in like.transformer.config.items() if name in known}
    names = ("tokenizer", "text_encoder", "image_encoder", "image_processor", "vae", "scheduler")
    pipe = SkyReelsV2ImageToVideoPipeline(
        transformer=SkyReelsV2Transformer3DModel(**settings).eval(),
        **{name: getattr(like, name) for name in names},
    )
    pipe.save_pretrained(folder)
    return pipe
