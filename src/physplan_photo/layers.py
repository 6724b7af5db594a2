"""What is behind things in the sketch of a plan: MI-GAN, or the ground's own colours and grain."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from physplan.pictures import to_picture, to_tensor
from physplan.sketch.whole import Layers, LayerSource
from physplan_photo.background import FILE, complete_background
from physplan_photo.sessions import session

RIM_SHARE = 0.02  # of the height: the objects' soft rims


def inpaint() -> LayerSource:
    session(FILE)  # says at once that its weights are missing
    return _behind


def _behind(image: Tensor, words: Mapping[str, str], masks: Mapping[str, Tensor]) -> Layers:
    hole = torch.stack(tuple(masks.values())).any(0).cpu().numpy()
    rim = max(1, round(RIM_SHARE * image.shape[1]))
    return Layers(plate=to_tensor(complete_background(to_picture(image), hole, grow=rim)).to(image))
