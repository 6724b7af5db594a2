"""The video model is given the keyframes as pictures; no gradient is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.guidance.config import StartAt
from physplan.methods.method import Method

if TYPE_CHECKING:
    from physplan.pipeline.config import Config


class Conditioned(Method):
    def start(self, config: Config) -> StartAt:
        return config.conditioned.start


CONDITIONED = Conditioned(
    name="conditioned", about="the video model is given the keyframes as pictures", conditioned=True
)
