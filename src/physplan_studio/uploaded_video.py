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
from physplan.methods.records import recorded_method
from physplan.origin import Origin, OriginError, read_origin
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.origins import divide, plan_of
from physplan_studio.pictures import PictureStore


class UploadedVideos:
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
        taken, left = divide(origin.settings, load_config(origin.preset))
        return {
            "picture": self._pictures.put(image),
            "prompt": origin.prompt,
            "preset": origin.preset,
            "method": recorded_method(origin.method, origin.settings),
            "seed": origin.seed,
            "plan": None if plan is None else plan.to_json(),
            "recipe": self._keep(origin.preset, taken),
            "left_out": [name[:80] for name in left][:50],
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
