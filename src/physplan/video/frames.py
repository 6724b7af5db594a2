"""Which latent covers which frame, and which few latents to decode to see one frame (appendix A.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from physplan.errors import PhysPlanError

WindowMode = Literal["trailing", "centred"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """A run of latents to decode, and the place of the wanted frame in the decoded clip."""

    frame: int
    latents: slice  # of the time axis: z[:, :, window.latents]
    index: int

    @property
    def length(self) -> int:
        return int(self.latents.stop - self.latents.start)


@dataclass(frozen=True, kw_only=True)
class FrameLayout:
    """The first frame has a latent of its own, every further one covers `ratio` frames.

    `padding` latents in front belong to no frame (CogVideoX 1.5 fills up its patches in time with them), nor
    do those `behind` (LTX-2 draws the sound with the picture).
    """

    num_frames: int
    ratio: int
    padding: int = 0
    behind: int = 0

    @property
    def num_latents(self) -> int:
        return self.padding + self.latents_of_video + self.behind

    @property
    def video(self) -> slice:
        """Of the time axis: the latents of frames."""
        return slice(self.padding, self.padding + self.latents_of_video)

    @property
    def latents_of_video(self) -> int:
        return 1 + (self.num_frames - 1) // self.ratio

    def latent_index(self, frame: int) -> int:
        """j(f) = 0 for f = 0 and 1 + floor((f - 1) / r) otherwise, behind the padding."""
        if not 0 <= frame < self.num_frames:
            raise PhysPlanError(
                f"Frame {frame} is not in the video: choose one from 0 to {self.num_frames - 1}."
            )
        return self.padding + -(-frame // self.ratio)

    def window(self, frame: int, length: int = 3, mode: WindowMode = "trailing") -> Window:
        """The `length` latents that end at the frame's own (`trailing`) or have it in the middle (`centred`).

        At either end of the video the window is moved inwards, not cut: the decoders' first chunk is then the
        same as in the full video. The clip's first latent gives one frame, so frame f is at f - r * start.
        """
        if length < 2 and self.ratio > 1:
            raise PhysPlanError(
                f"A window of {length} latent cannot show every frame of a model that packs {self.ratio}"
                " frames into a latent: use at least 2, better 3."
            )
        ahead = (length - 1) // 2 if mode == "centred" else 0
        start = self.latent_index(frame) - self.padding + ahead - length + 1
        start = max(0, min(start, self.latents_of_video - length))
        stop = min(start + length, self.latents_of_video)
        return Window(
            frame=frame,
            latents=slice(self.padding + start, self.padding + stop),
            index=frame - self.ratio * start,
        )
