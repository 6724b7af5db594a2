"""Our MobileSAM against a checkout of its authors' code: embedding, logits, scores and masks of one picture.

    python -m experiments.mobile_sam_parity --code MobileSAM/ PICTURE

The checkout is the user's. What it imports of timm and torchvision is stood in for below: it starts weights
that are read from the file, drops nothing at inference, and resizes by Pillow. The prompts are four boxes,
a click in the middle of each, and two clicks at once, placed by the picture's size.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from PIL import Image

from physplan.pictures import open_picture
from physplan_photo.mobile_sam.model import MobileSAM, full_size
from physplan_photo.objects import Box, Point
from physplan_photo.weights import find

FILE = "mobile_sam.pt"
LIMIT = 1e-4
Prompt = tuple[str, Box | None, tuple[Point, ...]]


def stand_in() -> None:
    """timm's and torchvision's names that the authors' files import; none computes a compared value."""
    names: dict[str, dict[str, Any]] = {
        "timm.models.layers": {
            "DropPath": torch.nn.Identity,
            "to_2tuple": lambda n: (n, n),
            "trunc_normal_": lambda weight, std: weight,
        },
        "timm.models.registry": {"register_model": lambda made: made},
        "torchvision.ops.boxes": {"batched_nms": None, "box_area": None},
        "torchvision.transforms.functional": {
            "to_pil_image": Image.fromarray,
            "resize": lambda image, size: image.resize(size[::-1], Image.Resampling.BILINEAR),
        },
    }  # fmt: skip
    for name, members in names.items():
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            module = sys.modules.setdefault(".".join(parts[:depth]), ModuleType(".".join(parts[:depth])))
        vars(module).update(members)


def load_official(code: Path, picture: Image.Image) -> Any:
    """The authors' predictor with the same file of weights, and the picture encoded."""
    sys.path.insert(0, str(code.resolve()))
    stand_in()
    from mobile_sam import SamPredictor, sam_model_registry

    predictor = SamPredictor(sam_model_registry["vit_t"](checkpoint=str(find(FILE))).eval())
    predictor.set_image(np.asarray(picture))
    return predictor


def prompts(size: tuple[int, int]) -> list[Prompt]:
    found: list[Prompt] = []
    for left, top in ((0.1, 0.1), (0.3, 0.05), (0.5, 0.3), (0.2, 0.45)):
        x, y = left * size[0], top * size[1]
        box = Box(x, y, x + 0.4 * size[0], y + 0.5 * size[1])
        found += [("box", box, ()), ("click", None, (Point(*box.centre),))]
    two = (Point(0.4 * size[0], 0.4 * size[1]), Point(0.9 * size[0], 0.9 * size[1], inside=False))
    return [*found, ("two clicks", None, two)]


def compare(official: Any, ours: MobileSAM, picture: Image.Image) -> float:
    """Print the largest differences; return the largest of embedding, scores and logits, which reach 70:
    a logit above one counts by its own size."""
    encoded = ours.encode(picture)
    worst = float((official.get_image_embedding() - encoded.embedding).abs().max())
    print(f"embedding {worst:.1e} (values to {float(encoded.embedding.abs().max()):.1f})")
    for name, box, points in prompts(picture.size):
        several = name == "click"
        masks, scores, low = official.predict(
            point_coords=np.array([(p.x, p.y) for p in points]) if points else None,
            point_labels=np.array([int(p.inside) for p in points]) if points else None,
            box=np.array(box.tuple()) if box else None,
            multimask_output=several,
        )
        guesses = ours.guesses(encoded, box=box, points=points)
        away = [np.abs(g.logits.numpy() - low[k]) for k, g in enumerate(guesses)]
        logits = max(float((one / np.maximum(1, np.abs(low[k]))).max()) for k, one in enumerate(away))
        expected = max(abs(g.score - float(scores[k])) for k, g in enumerate(guesses))
        other = sum(
            int(((full_size(g.logits, encoded) > 0).numpy() != masks[k]).sum()) for k, g in enumerate(guesses)
        )
        bare = max(float(one.max()) for one in away)
        print(
            f"{name:10} logits {logits:.1e} ({bare:.1e} of {np.abs(low).max():.0f}), scores {expected:.1e}, "
            f"pixels that differ {other}"
        )
        worst = max(worst, logits, expected)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", type=Path, required=True, help="a checkout of MobileSAM")
    parser.add_argument("picture", type=Path)
    args = parser.parse_args()
    picture = open_picture(args.picture)
    with torch.no_grad():
        worst = compare(load_official(args.code, picture), MobileSAM.load(find(FILE)), picture)
    print(f"largest difference {worst:.1e}, {'within' if worst <= LIMIT else 'above'} {LIMIT:.0e}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
