"""A video of PhysPlan's, dropped on the page: the picture, the settings and the plan that it tells of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan.origin import Origin, OriginError, read_origin
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.origins import plan_of
from physplan.studio.pictures import PictureStore

# What a stranger's file may decide here: how, but not with which models, and no path or address.
TAKEN = ("video.", "guidance", "frame_guidance", "sketch", "editor.seed", "editor.redraws", "editor.check")
NOT_TAKEN = ("video.model", "video.source", "video.files", "video.revision", "video.dtype")


class Dropped:
    def __init__(self, folder: Path, pictures: PictureStore) -> None:
        self._folder, self._pictures = folder, pictures

    def receive(self, content: bytes) -> dict[str, Any]:
        origin = self._read(content)
        if origin.preset not in presets.NAMES:
            raise PhysPlanError(
                f"The video names the preset {origin.preset[:40]!r}, which is not known here."
            )
        image, plan = origin.image(), plan_of(origin)
        if image is None:
            raise PhysPlanError("The video is too large to hold its picture: choose the picture yourself.")
        taken, left = _divided(origin)
        return {
            "picture": self._pictures.put(image),
            "prompt": origin.prompt,
            "preset": origin.preset,
            "method": origin.method,
            "seed": origin.seed,
            "plan": None if plan is None else plan.to_json(),
            "recipe": self._keep(origin.preset, taken),
            "left_out": left,
        }

    def path(self, recipe: str) -> Path:
        path = self._folder / f"{recipe}.yaml"
        if not path.is_file() or path.is_symlink():
            raise PhysPlanError("The settings of the video are not here any more: drop it again.")
        return path

    def _read(self, content: bytes) -> Origin:
        path = self._folder / f"dropped-{os.urandom(8).hex()}.mp4"
        try:
            write_atomic(path, content)
            return read_origin(path)
        except OriginError as error:
            raise PhysPlanError(str(error).replace(str(path), "The video")) from None
        except PhysPlanError:
            raise PhysPlanError("The file is no video that can be read: drop an MP4 of PhysPlan's.") from None
        finally:
            path.unlink(missing_ok=True)

    def _keep(self, preset: str, settings: Mapping[str, Any]) -> str:
        """As a file that a worker reads, checked by the ranges of every field."""
        text = yaml.safe_dump(to_plain(load_config(preset, settings)), sort_keys=False)
        name = hashlib.sha256(text.encode()).hexdigest()
        write_atomic(self._folder / f"{name}.yaml", text)
        return name


def _divided(origin: Origin) -> tuple[dict[str, Any], list[str]]:
    """The settings that count, and the names of those that would be others than the preset's."""
    usual = _plain(origin.preset)
    taken, left = {}, []
    for name, value in origin.settings.items():
        if name.startswith(TAKEN) and name not in NOT_TAKEN:
            taken[name] = value
        elif usual.get(name) != value:
            left.append(name)
    return taken, left


def _plain(preset: str) -> dict[str, Any]:
    from physplan.pipeline.defaults import with_defaults
    from physplan.pipeline.stage_keys import identity

    return {name: value for name, _, value in identity(with_defaults(load_config(preset)))}
