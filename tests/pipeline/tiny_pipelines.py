"""The presets on tiny random models of the real classes, and a model that knows the melting scene."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import yaml
from PIL import Image, ImageDraw

import tiny_editors
import tiny_perception
from physplan_testing import melting, tiny_models
from physplan_testing.loopback import Answer, Asked

PROMPT = melting.PROMPT
SIZE = (64, 48)
GUIDANCE = {"schedule": {"layout_steps": 1, "guided_steps": 2, "repeats": 1}, "preview_downscale": 1}
RUNTIME = {"checkpointing": False, "timeout": 20.0, "attempts": 2}


def build(base: Path) -> Path:
    """All tiny models, each in a folder of its name, once."""
    if not (base / "done").exists():
        tiny_models.build("cogvideox", base / "cogvideox")
        for name in ("ltx", "ltx095", "wan22", "framepack"):
            tiny_models.build(name, base / name)
        tiny_perception.grounding_dino(base / "grounding_dino")
        tiny_perception.sam2(base / "sam2")
        tiny_perception.sam3(base / "sam3")
        tiny_perception.depth_anything(base / "depth_anything")
        tiny_perception.dinov2(base / "dinov2")
        tiny_perception.dinov3(base / "dinov3")
        tiny_editors.flux_kontext(base / "flux_kontext")
        (base / "done").touch()
    return base


def paper(models: Path, url: str) -> dict[str, Any]:
    """The paper's recipe with everything it names in its place, only small."""
    return {
        "preset": "paper",
        "reasoner": {"base_url": url},
        "editor": {"base_url": url, "redraws": 0},
        "perception": {
            "segmenter": {
                "name": "grounded-sam-2",
                "options": {
                    "detector": str(models / "grounding_dino"),
                    "sam": str(models / "sam2"),
                    "threshold": 0.0,
                    "edges": [128, 128],
                },
            },
            "depth": _depth(models),
            "encoder": {"name": "dinov3", "options": {"source": str(models / "dinov3")}},
        },
        "video": _video(models / "cogvideox", model="cogvideox-5b", num_frames=9),
        "guidance": GUIDANCE,
        "runtime": RUNTIME,
    }


def open_weights(models: Path, url: str) -> dict[str, Any]:
    return {
        "preset": "open",
        "reasoner": {"base_url": url},
        "editor": {
            "redraws": 0,
            "options": {
                "source": str(models / "flux_kontext"),
                "torch_dtype": "fp32",
                "area": 32 * 32,
                "options": {"num_inference_steps": 1, "max_sequence_length": 32, "_auto_resize": False},
            },
        },
        "perception": {
            "segmenter": {"name": "sam-3", "options": {"source": str(models / "sam3"), "threshold": 0.0}},
            "depth": _depth(models),
            "encoder": {"name": "dinov2", "options": {"source": str(models / "dinov2")}},
        },
        "video": _video(models / "ltx", model="ltx", num_frames=9),
        "guidance": GUIDANCE,
        "runtime": RUNTIME,
    }


def _depth(models: Path) -> dict[str, Any]:
    return {
        "name": "depth-anything-v2",
        "options": {"source": str(models / "depth_anything"), "size": 28},
    }


def _video(folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "source": str(folder),
        "dtype": "fp32",
        "width": 32,
        "height": 32,
        "num_inference_steps": 3,
        **more,
    }


def respond(asked: Asked) -> Answer:
    """Text as in the paper's example; for pictures, the one that was sent with the ice painted over."""
    if "IMAGE" not in asked.modalities:
        return melting.respond(asked)
    image = Image.open(io.BytesIO(asked.images[0])).convert("RGB")
    width, height = image.size
    box = (0.4 * width, 0.5 * height, 0.6 * width, 0.6 * height)
    ImageDraw.Draw(image).rectangle(box, fill=(40, 80, 230))
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return Answer(images=(encoded.getvalue(),))


PHOTOGRAPH = Path(__file__).with_name("coffee.jpg")  # scikit-image's sample `coffee`, CC0, made smaller


def storyboard(models: Path, url: str) -> dict[str, Any]:
    """As the preset, at a size that a test can wait for."""
    found = paper(models, url)
    found["video"] = {"height": 32, "width": 48, "num_frames": 9}
    return {name: found[name] for name in ("reasoner", "editor", "perception", "video")} | {
        "preset": "storyboard",
        "runtime": {"timeout": 20.0, "attempts": 2},
    }


def storyboard_on_local_servers(models: Path, planning: str, drawing: str) -> dict[str, Any]:
    """With the two lines of docs/presets.md."""
    page = Path(__file__).parents[2] / "docs" / "presets.md"
    lines = yaml.safe_load(
        page.read_text("utf-8").partition("<!-- file: local.yaml -->\n```yaml\n")[2].partition("```")[0]
    )
    found = storyboard(models, planning)
    return found | {
        "reasoner": lines["reasoner"] | {"base_url": planning},
        "editor": lines["editor"] | {"base_url": drawing, "redraws": 0},
    }


def local(models: Path, url: str, preset: str) -> dict[str, Any]:
    """`home` and `desk`: every part that the recipe names, only small."""
    given, seen = open_weights(models, url), paper(models, url)["perception"]
    given["perception"] = {**seen, "encoder": given["perception"]["encoder"]}
    given["video"] = _video(models / "ltx095", model="ltx-0.9.5", num_frames=9)
    guidance = given.pop("guidance")
    if preset == "desk":
        given["guided_sketch"] = guidance
    return {**given, "preset": preset}
