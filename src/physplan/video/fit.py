"""A picture of another shape than the video: letterboxed, cropped or stretched, and undone on the output."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Literal

from PIL import Image

if TYPE_CHECKING:
    from torch import Tensor

from physplan.pictures import to_tensor

FitMode = Literal["letterbox", "crop", "stretch"]
MAX_CROP = 0.1  # of the picture, cut off: worth a warning


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How a picture of size `source` came to be of size `target`; sizes are (width, height)."""

    mode: FitMode
    source: tuple[int, int]
    target: tuple[int, int]

    @property
    def scale(self) -> float:
        """Video pixels per picture pixel (for `stretch`, where there are two, their geometric mean)."""
        across, down = self.target[0] / self.source[0], self.target[1] / self.source[1]
        return {"letterbox": min(across, down), "crop": max(across, down), "stretch": sqrt(across * down)}[
            self.mode
        ]

    @property
    def undone(self) -> tuple[int, int]:
        """The size of an undone frame: the picture's shape at the video's scale, even for H.264."""
        width, height = (max(2, 2 * round(side * self.scale / 2)) for side in self.source)
        return width, height

    @property
    def lost(self) -> float:
        """The share of the picture that the video does not show."""
        if self.mode != "crop":
            return 0.0
        shown = [min(1.0, target / side) for target, side in zip(self.target, self.undone, strict=True)]
        return 1.0 - shown[0] * shown[1]

    def warning(self) -> str | None:
        """One sentence where much is cut off."""
        if self.lost <= MAX_CROP:
            return None
        return (
            f"{self.lost:.0%} of the picture is cut off to make it {self.target[0]} x {self.target[1]}: set "
            "video.fit=letterbox to keep all of it, or give a picture of that shape"
        )

    def apply(self, picture: Image.Image) -> Image.Image:
        """The picture as the model is given it."""
        picture = picture.convert("RGB")
        if self.mode == "stretch" or self.source == self.target:
            return picture.resize(self.target, Image.Resampling.LANCZOS)
        scaled = picture.resize(self.undone, Image.Resampling.LANCZOS)
        canvas = Image.new("RGB", self.target)
        canvas.paste(scaled, self._offset())
        return canvas

    def undo(self, frames: Tensor, picture: Image.Image) -> Tensor:
        """Frames [..., 3, H, W] in [0, 1] in the picture's own shape.

        Bars are cut off; what was cropped away is put back from the picture, at rest; stretching is reversed.
        """
        width, height = self.undone
        if self.mode == "stretch" or self.source == self.target:
            return _resize(frames, width, height)
        left, top = self._offset()
        if self.mode == "letterbox":
            return frames[..., top : top + height, left : left + width]
        still = to_tensor(picture.convert("RGB").resize(self.undone, Image.Resampling.LANCZOS)).to(frames)
        whole = still.expand(*frames.shape[:-3], *still.shape).clone()
        whole[..., -top : -top + frames.shape[-2], -left : -left + frames.shape[-1]] = frames
        return whole

    def framed(self, frames: Tensor) -> Tensor:
        """Undone frames at their place in the video, bars around them again; cropped ones as they are."""
        width, height = self.target
        if self.mode != "letterbox" or self.source == self.target:
            return frames
        canvas = frames.new_zeros(*frames.shape[:-2], height, width)
        left, top = self._offset()
        canvas[..., top : top + frames.shape[-2], left : left + frames.shape[-1]] = frames
        return canvas

    def _offset(self) -> tuple[int, int]:
        """Where the scaled picture's corner lies on the video frame: negative when cropped."""
        return (self.target[0] - self.undone[0]) // 2, (self.target[1] - self.undone[1]) // 2


def fit_picture(
    picture: Image.Image, *, width: int, height: int, mode: FitMode = "crop"
) -> tuple[Image.Image, Fit]:
    """The picture at the video's size, and how to undo it."""
    fit = Fit(mode=mode, source=picture.size, target=(width, height))
    return fit.apply(picture), fit


def _resize(frames: Tensor, width: int, height: int) -> Tensor:
    import torch.nn.functional as F

    flat = frames.reshape(-1, *frames.shape[-3:])
    resized = F.interpolate(flat, (height, width), mode="bilinear", antialias=True)
    return resized.reshape(*frames.shape[:-2], height, width)
