"""Inception v3 as the FID uses it: 2048 pooled features, under the names of its usual weights file.

It differs from the classifier in how its blocks pool: the mean leaves out the padding, and the last block
takes the maximum. That is how the network behind the published numbers was converted.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from physplan.errors import PhysPlanError

Kernel = int | tuple[int, int]


class Conv(nn.Module):
    """Convolution without bias, batch norm, ReLU; padded to keep the size unless it strides."""

    def __init__(
        self, inputs: int, outputs: int, kernel: Kernel = 1, stride: int = 1, pad: bool = True
    ) -> None:
        super().__init__()
        size = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (size[0] // 2, size[1] // 2) if pad and stride == 1 else (0, 0)
        self.conv = nn.Conv2d(inputs, outputs, size, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)))


def mean_pool(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)


class BlockA(nn.Module):
    def __init__(self, inputs: int, pooled: int) -> None:
        super().__init__()
        self.branch1x1 = Conv(inputs, 64)
        self.branch5x5_1, self.branch5x5_2 = Conv(inputs, 48), Conv(48, 64, 5)
        self.branch3x3dbl_1 = Conv(inputs, 64)
        self.branch3x3dbl_2, self.branch3x3dbl_3 = Conv(64, 96, 3), Conv(96, 96, 3)
        self.branch_pool = Conv(inputs, pooled)

    def forward(self, x: Tensor) -> Tensor:
        five = self.branch5x5_2(self.branch5x5_1(x))
        three = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch1x1(x), five, three, self.branch_pool(mean_pool(x))], 1)


class BlockB(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch3x3 = Conv(inputs, 384, 3, stride=2)
        self.branch3x3dbl_1, self.branch3x3dbl_2 = Conv(inputs, 64), Conv(64, 96, 3)
        self.branch3x3dbl_3 = Conv(96, 96, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, F.max_pool2d(x, 3, 2)], 1)


class BlockC(nn.Module):
    def __init__(self, inputs: int, inner: int) -> None:
        super().__init__()
        wide, tall = (1, 7), (7, 1)
        self.branch1x1 = Conv(inputs, 192)
        self.branch7x7_1, self.branch7x7_2 = Conv(inputs, inner), Conv(inner, inner, wide)
        self.branch7x7_3 = Conv(inner, 192, tall)
        self.branch7x7dbl_1, self.branch7x7dbl_2 = Conv(inputs, inner), Conv(inner, inner, tall)
        self.branch7x7dbl_3, self.branch7x7dbl_4 = Conv(inner, inner, wide), Conv(inner, inner, tall)
        self.branch7x7dbl_5 = Conv(inner, 192, wide)
        self.branch_pool = Conv(inputs, 192)

    def forward(self, x: Tensor) -> Tensor:
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return torch.cat([self.branch1x1(x), seven, double, self.branch_pool(mean_pool(x))], 1)


class BlockD(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch3x3_1, self.branch3x3_2 = Conv(inputs, 192), Conv(192, 320, 3, stride=2)
        self.branch7x7x3_1, self.branch7x7x3_2 = Conv(inputs, 192), Conv(192, 192, (1, 7))
        self.branch7x7x3_3, self.branch7x7x3_4 = Conv(192, 192, (7, 1)), Conv(192, 192, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x))))
        return torch.cat([three, seven, F.max_pool2d(x, 3, 2)], 1)


class BlockE(nn.Module):
    def __init__(self, inputs: int, *, max_pool: bool) -> None:
        super().__init__()
        self.max_pool = max_pool
        self.branch1x1 = Conv(inputs, 320)
        self.branch3x3_1 = Conv(inputs, 384)
        self.branch3x3_2a, self.branch3x3_2b = Conv(384, 384, (1, 3)), Conv(384, 384, (3, 1))
        self.branch3x3dbl_1, self.branch3x3dbl_2 = Conv(inputs, 448), Conv(448, 384, 3)
        self.branch3x3dbl_3a, self.branch3x3dbl_3b = Conv(384, 384, (1, 3)), Conv(384, 384, (3, 1))
        self.branch_pool = Conv(inputs, 192)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        pooled = F.max_pool2d(x, 3, stride=1, padding=1) if self.max_pool else mean_pool(x)
        return torch.cat(
            [
                self.branch1x1(x),
                self.branch3x3_2a(three),
                self.branch3x3_2b(three),
                self.branch3x3dbl_3a(double),
                self.branch3x3dbl_3b(double),
                self.branch_pool(pooled),
            ],
            1,
        )


class InceptionV3(nn.Module):
    """(N, 3, 299, 299) in [-1, 1] -> (N, 2048)."""

    num_features = 2048

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = Conv(3, 32, 3, stride=2)
        self.Conv2d_2a_3x3, self.Conv2d_2b_3x3 = Conv(32, 32, 3, pad=False), Conv(32, 64, 3)
        self.Conv2d_3b_1x1, self.Conv2d_4a_3x3 = Conv(64, 80), Conv(80, 192, 3, pad=False)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = BlockA(192, 32), BlockA(256, 64), BlockA(288, 64)
        self.Mixed_6a, self.Mixed_6b, self.Mixed_6c = BlockB(288), BlockC(768, 128), BlockC(768, 160)
        self.Mixed_6d, self.Mixed_6e, self.Mixed_7a = BlockC(768, 160), BlockC(768, 192), BlockD(768)
        self.Mixed_7b, self.Mixed_7c = BlockE(1280, max_pool=False), BlockE(2048, max_pool=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(F.max_pool2d(x, 3, 2)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(F.max_pool2d(x, 3, 2))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        return x.mean((2, 3))

    @classmethod
    def from_file(cls, path: Path) -> InceptionV3:
        """The weights that FID is computed with: a state dict with these names; its classifier is ignored."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            model = cls()
            missing, _ = model.load_state_dict(state, strict=False)
        except Exception as error:
            raise PhysPlanError(f"{path} cannot be read as weights of Inception v3 ({error}).") from error
        if left := [name for name in missing if not name.endswith("num_batches_tracked")]:
            raise PhysPlanError(f"{path} lacks weights of Inception v3, such as {left[0]}.")
        return model.eval().requires_grad_(False)
