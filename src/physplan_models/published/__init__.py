"""The published models by name, one file per family; each is registered as `physplan.video_models`."""

from __future__ import annotations

from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean
from physplan_models.published.cogvideox import COGVIDEOX1_5_5B, COGVIDEOX_5B
from physplan_models.published.cosmos3 import COSMOS3_NANO
from physplan_models.published.framepack import HUNYUAN_FRAMEPACK
from physplan_models.published.hunyuan15 import HUNYUAN_1_5, HUNYUAN_1_5_DISTILLED
from physplan_models.published.ltx import LTX, LTX_0_9_5, LTX_2, LTX_2_3, LTX_2_5
from physplan_models.published.model import Networks, PublishedModel
from physplan_models.published.svd import SVD_XT
from physplan_models.published.wan import (
    WAN2_1_14B,
    WAN2_1_VACE_1_3B,
    WAN2_2_5B,
    WAN2_2_A14B,
    WAN2_2_VACE_A14B,
)

PUBLISHED: dict[str, PublishedModel] = {
    model.name: model
    for model in (
        COGVIDEOX_5B,
        COGVIDEOX1_5_5B,
        WAN2_1_14B,
        WAN2_2_A14B,
        WAN2_2_5B,
        WAN2_1_VACE_1_3B,
        WAN2_2_VACE_A14B,
        LTX,
        LTX_0_9_5,
        LTX_2,
        LTX_2_3,
        LTX_2_5,
        HUNYUAN_1_5,
        HUNYUAN_1_5_DISTILLED,
        HUNYUAN_FRAMEPACK,
        COSMOS3_NANO,
        SVD_XT,
    )
}


def published_model(name: str) -> PublishedModel:
    if name not in PUBLISHED:
        raise PhysPlanError(f"There is no video preset called {name!r}. {did_you_mean(name, PUBLISHED)}")
    return PUBLISHED[name]


__all__ = ["PUBLISHED", "Networks", "PublishedModel", "published_model"]
