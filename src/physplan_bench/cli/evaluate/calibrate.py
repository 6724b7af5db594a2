"""Find b and tau of an encoder from pictures and masks of yours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import make_parser

if TYPE_CHECKING:
    from torch import Tensor

EXAMPLES = """\
  physplan evaluate calibrate pictures/ masks/ --preset paper --into mine.yaml
  physplan generate --config mine.yaml --image ice.png --prompt "the ice melts"

masks/NAME.png, or several in masks/NAME/, belong to pictures/NAME.png (or .jpg): white is the object.
"""
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "calibrate", __doc__, EXAMPLES, run)
    parser.add_argument("pictures", type=Path, metavar="PICTURES", help="folder of pictures")
    parser.add_argument("masks", type=Path, metavar="MASKS", help="folder of masks of the same names")
    parser.add_argument(
        "--preset", default="sandbox", help="a preset or a config file: whose encoder and size"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FILE.yaml", help="write b and tau into this config file"
    )


def run(args: argparse.Namespace) -> int:
    from physplan.pipeline.backends import Backends
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan_bench.calibration import calibrate

    config = with_defaults(load_config(args.preset))
    content = _config_file(args.into, args.preset) if args.into else {}
    examples = read_examples(args.pictures, args.masks)
    size = (config.video.clip.height, config.video.clip.width)
    found = calibrate(examples, Backends(config).encoder, size=size)
    name = config.perception.encoder.name
    print(f"{name}: threshold (b) {found.threshold}, temperature (tau) {found.temperature}")
    print(f"from {found.objects} objects; {found.accuracy:.0%} of the cells are told right")
    if args.into:
        import yaml

        from physplan.files import write_atomic

        for method in ("guidance", "guided_sketch"):  # both look through the encoder
            measure = content.setdefault(method, {}).setdefault("measure", {})
            measure |= {"threshold": found.threshold, "temperature": found.temperature}
        write_atomic(args.into, yaml.safe_dump(content, sort_keys=False))
        load_config(args.into)
        print(f"written to {args.into}")
    return 0


def _config_file(path: Path, preset: str) -> dict[str, Any]:
    """What the file holds already, or a beginning; a file that is no config is refused before all else."""
    import yaml

    from physplan.pipeline.config_loading import load_config

    if path.suffix not in (".yaml", ".yml"):
        raise PhysPlanError(f"{path} is no YAML file: give a name such as mine.yaml.")
    if path.exists():
        load_config(path)
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    given = Path(preset)
    if given.suffix in (".yaml", ".yml"):
        return dict(yaml.safe_load(given.read_text(encoding="utf-8")) or {})
    return {"preset": preset}


def read_examples(pictures: Path, masks: Path) -> list[tuple[Tensor, Tensor]]:
    """Every mask with its picture, as tensors [3, H, W] and [H, W]."""
    for folder in (pictures, masks):
        if not folder.is_dir():
            raise PhysPlanError(f"There is no folder {folder}.")
    found = [
        (_picture(picture), _mask(mask, picture))
        for picture in sorted(p for p in pictures.iterdir() if p.suffix.lower() in SUFFIXES)
        for mask in (masks / f"{picture.stem}.png", *sorted((masks / picture.stem).glob("*.png")))
        if mask.is_file()
    ]
    if not found:
        raise PhysPlanError(f"No mask in {masks} has the name of a picture in {pictures}, such as ice.png.")
    return found


def _picture(path: Path) -> Tensor:
    from PIL import Image

    from physplan.pictures import to_tensor

    try:
        return to_tensor(Image.open(path).convert("RGB"))
    except OSError as error:
        raise PhysPlanError(f"{path} is no picture that can be read.") from error


def _mask(path: Path, of: Path) -> Tensor:
    mask, picture = _picture(path).mean(0) > 0.5, _picture(of)
    if mask.shape != picture.shape[1:]:
        raise PhysPlanError(f"{path} has another size than its picture {of}: draw it on the picture.")
    return mask
