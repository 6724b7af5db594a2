"""Stage 3: what the preset's segmenter finds on two photographs and a drawing, and b and tau from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from physplan.files import atomic_path
from physplan.perception import normalise_depth
from physplan.pictures import to_picture, to_tensor
from physplan_bench.accept.context import Acceptance, photograph
from physplan_bench.accept.findings import Finding, StageResult, checked

PHOTOGRAPHS = ("coffee", "chelsea")
ASKED = {"coffee": ("cup", "spoon"), "chelsea": ("cat",), "ball": ("ball", "table")}
AREAS = (0.0005, 0.9)  # of the picture: a mask beyond is no object


def look(here: Acceptance) -> StageResult:
    findings: list[Finding] = []
    pictures, examples = {}, []
    known = () if here.config.perception.segmenter.name == "sandbox" else PHOTOGRAPHS
    for name in (*known, "ball"):
        image = to_tensor(photograph(name) if name in PHOTOGRAPHS else here.picture)
        found, masks, depth = _seen(here, name, image)
        findings += found
        examples += [(image, mask) for mask in masks]
        file = f"seen-{name}.png"
        with atomic_path(here.folder / file) as temporary:
            sheet(image, masks, depth).save(temporary)
        pictures[file] = f"{name}: masks, nearness"
    findings += calibrated(here, examples)
    return StageResult(stage=3, findings=findings, pictures=pictures)


def _seen(here: Acceptance, name: str, image: Tensor) -> tuple[list[Finding], list[Tensor], Tensor]:
    backends = here.pp.backends
    instances = backends.segmenter.segment(image, ASKED[name])
    masks = [one.mask.cpu() for one in instances]
    areas = [float(mask.float().mean()) for mask in masks]
    sane = [area for area in areas if AREAS[0] <= area <= AREAS[1]]
    wrong = [mask for mask in masks if mask.shape != image.shape[-2:]]
    level: Any = "failure" if wrong or (not masks and name in PHOTOGRAPHS) else "pass" if sane else "warning"
    meaning = "masks have another size than the picture" if wrong else "no mask has the size of an object"
    fault = f"{meaning}: guidance would hold the wrong places"
    found = [checked(f"{name}: objects found", level == "pass", fault, value=float(len(sane)), level=level)]
    with torch.no_grad():
        depth = backends.depth(image[None].to(_device(here)))[0].float().cpu()
        features = backends.encoder(image[None].to(_device(here)))[0].float().cpu()
    spread = float(depth.max() - depth.min())
    usable = bool(torch.isfinite(depth).all()) and spread > 0 and depth.shape == image.shape[-2:]
    fault = "it is flat, not finite or of another size: depth terms say nothing"
    found.append(checked(f"{name}: depth", usable, fault, value=round(spread, 4)))
    spread = float(features.std())
    varied = bool(torch.isfinite(features).all()) and spread > 0
    fault = "they are not finite or all the same: terms have no gradient"
    found.append(checked(f"{name}: features", varied, fault, value=round(spread, 4)))
    return found, [mask for mask in masks if not wrong], torch.nan_to_num(depth)


def _device(here: Acceptance) -> str:
    return here.config.runtime.device


def calibrated(here: Acceptance, examples: list[tuple[Tensor, Tensor]]) -> Iterator[Finding]:
    """b and tau of this encoder, into a config file of the user's; settings are not changed by it."""
    import yaml

    from physplan.errors import PhysPlanError
    from physplan.files import write_atomic
    from physplan_bench.calibration import calibrate

    usable = [(image, mask) for image, mask in examples if AREAS[0] <= float(mask.float().mean()) <= AREAS[1]]
    size = (here.config.video.clip.height, here.config.video.clip.width)
    own = here.config.guidance.measure
    try:
        if not usable:
            raise PhysPlanError("there is no mask of an object")
        found = calibrate(usable, here.pp.backends.encoder, size=size)
    except (PhysPlanError, ValueError) as error:
        yield Finding(name="calibration", level="warning", meaning=f"b and tau stay as they are: {error}")
        return
    measure = {"threshold": found.threshold, "temperature": found.temperature}
    both = {method: {"measure": measure} for method in ("guidance", "guided_sketch")}
    content = {"preset": here.config.preset, **both}
    write_atomic(here.folder / "calibrated.yaml", yaml.safe_dump(content, sort_keys=False))
    near = abs(found.threshold - own.threshold) <= 0.15
    fault = f"the preset has {own.threshold:g}: try calibrated.yaml beside it"
    yield checked("b (threshold) here", near, fault, value=round(found.threshold, 3), level="warning")
    yield Finding(name="tau (temperature) here", level="pass", value=round(found.temperature, 4))


def sheet(image: Tensor, masks: list[Tensor], depth: Tensor) -> Image.Image:
    """The picture with its masks in colours, and its nearness in grey."""
    painted = image.clone()
    colours = torch.tensor(((1, 0.3, 0.2), (0.2, 0.6, 1), (0.3, 0.9, 0.3), (1, 0.8, 0.1)))
    for i, mask in enumerate(masks[:12]):
        painted[:, mask] = 0.5 * painted[:, mask] + 0.5 * colours[i % len(colours)][:, None]
    grey = normalise_depth(depth)[None].expand(3, -1, -1)
    grey = torch.nn.functional.interpolate(grey[None], image.shape[-2:])[0]
    return Image.fromarray(np.hstack([np.asarray(to_picture(one)) for one in (image, painted, grey)]))
