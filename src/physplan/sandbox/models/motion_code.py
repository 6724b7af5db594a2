"""What happens in four frames, as a few numbers per cell: where the picture's pixels go, and what is new.

The code of a group is zero wherever its frames are the picture. The encoder looks every cell of a frame up in
the picture; the decoder moves the picture's pixels as the code says, and paints what was not there before.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from physplan.sandbox.models.copying import CELL, PictureCopier, cell_centres, look_up
from physplan.sandbox.models.layers import Residual, zeroed

GROUP = 4
BLOCK = 8  # pixels per side of the code's cells
STILL = 0.02  # of the range from -1 to 1: blocks that differ less from the picture have the code zero
LARGEST = 4.0  # number of a code
HINTS = 16  # features per frame beside shift, shares and paint


class MotionCoder(nn.Module):
    """Groups [B, 4, 3, H, W] and their pictures [B, 3, H, W] in [-1, 1] <-> codes [B, C, H / 8, W / 8]."""

    def __init__(self, channels: int = 16, width: int = 96, copied: tuple[int, int] = (64, 40)) -> None:
        super().__init__()
        self.channels = channels
        self.copier = PictureCopier(*copied)
        told = copied[0]
        self.frame = nn.Sequential(  # per frame, at a quarter: features, shift, how sure, what differs
            nn.Conv2d(told + 3 + 6 * CELL**2, width, 1), Residual(width)
        )
        self.squeeze = nn.Sequential(
            nn.PixelUnshuffle(2),
            nn.Conv2d(2 * GROUP * width, 2 * width, 1),
            Residual(2 * width),
            Residual(2 * width),
            nn.Conv2d(2 * width, channels, 1),
        )
        self.narrow = nn.Conv2d(GROUP * width, GROUP * width // 2, 1)
        self.place = nn.Conv2d(told, width, 1)  # what the picture shows there
        self.spread = nn.Sequential(
            nn.Conv2d(channels + 4 * width, 2 * width, 1),
            Residual(2 * width),
            Residual(2 * width),
            nn.Conv2d(2 * width, 4 * width, 1),
            nn.PixelShuffle(2),
            Residual(width),
            Residual(width),
        )
        # Per frame: shift (in cells), how sure, four painted colours of a cell, features for the last look.
        self.tell = zeroed(nn.Conv2d(width, GROUP * (3 + 12 + HINTS), 3, padding=1))

    def encode(self, groups: Tensor, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """The codes, and for training the logits of each cell's match [B, 4, N, N]."""
        batch = len(groups)
        frames = groups.flatten(0, 1)
        copier = self.copier
        found, known = copier.features(frames), copier.features(pictures)
        asked, answers = copier.ask(found).flatten(2).transpose(1, 2), copier.answer(known).flatten(2)
        logits = copier.match(asked.unflatten(0, (batch, GROUP)).flatten(1, 2), answers)  # [B, 4N, N]
        rows, columns = found.shape[-2:]
        places = cell_centres(rows, columns).to(logits)
        sources, sure = look_up(logits.unflatten(1, (GROUP, -1)).flatten(0, 1), places)
        shift = ((sources - places) / CELL).transpose(1, 2).unflatten(2, (rows, columns))
        sure = sure.transpose(1, 2).unflatten(2, (rows, columns))
        here = pictures.repeat_interleave(GROUP, 0)
        differs = F.pixel_unshuffle(torch.cat([frames - here, frames], dim=1), CELL)
        each = self.frame(torch.cat([found.float(), shift / 8, sure, differs], dim=1))
        joined = self.narrow(each.unflatten(0, (batch, GROUP)).flatten(1, 2))
        code = LARGEST * (self.squeeze(joined).float() / LARGEST).tanh() * self.moving(groups, pictures)
        return code, logits.unflatten(1, (GROUP, -1))

    def moving(self, groups: Tensor, pictures: Tensor) -> Tensor:
        """[B, 1, h, w]: 1 where a block or one beside it differs from the picture."""
        differs = (groups - pictures[:, None]).abs().amax(dim=(1, 2))[:, None]
        return (F.max_pool2d(F.max_pool2d(differs, BLOCK), 3, stride=1, padding=1) > STILL).float()

    def hints(self, codes: Tensor, pictures: Tensor) -> Tensor:
        """[B, 4, 31, H / 4, W / 4]."""
        seen = F.pixel_unshuffle(self.place(self.copier.features(pictures)), 2)
        told = self.tell(self.spread(torch.cat([codes, seen.float()], dim=1))).float()
        return told.unflatten(1, (GROUP, -1))

    def decode(self, codes: Tensor, pictures: Tensor, only: Tensor | None = None) -> tuple[Tensor, ...]:
        """Frames [B, 4, 3, H, W] (or [B, 1, ...] with `only`, the index of one frame each), and for training
        their sources, the shares of the layers, and how far off the picture was painted."""
        told = self.hints(codes, pictures)
        if only is not None:
            told = told[torch.arange(len(told)), only][:, None]
        count = told.shape[1]
        flat = told.flatten(0, 1)
        here = pictures.repeat_interleave(count, 0)
        painted = here + F.interpolate(
            F.pixel_shuffle(flat[:, 3:15], 2), scale_factor=CELL // 2, mode="bilinear"
        )
        found, sources, shares = self.copier.redraw(
            painted, here, CELL * flat[:, :2], flat[:, 2:3].sigmoid(), flat[:, 15:]
        )
        parts = (found, sources, shares, painted)
        return tuple(part.unflatten(0, (-1, count)) for part in parts)
