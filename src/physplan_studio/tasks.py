"""A spec as a worker takes it: names of pictures, masks and runs have become paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from physplan.runs import layout
from physplan_studio.jobs import Job
from physplan_studio.photo import PRESET, PhotoDesk
from physplan_studio.pictures import PictureStore
from physplan_studio.run_index import RunIndex, preset_of
from physplan_studio.spec import Spec, settings_of
from physplan_studio.uploaded_video import UploadedVideos

SAME = ("prompt", "seed", "method", "attempts", "plan", "upto")  # fields that a worker takes as they are


class Tasks:
    def __init__(
        self, index: RunIndex, pictures: PictureStore, uploads: UploadedVideos, photo: PhotoDesk
    ) -> None:
        self._index, self._pictures, self._uploads, self._photo = index, pictures, uploads, photo

    def of_job(self, job: Job) -> dict[str, Any]:
        reuse = str(self._index.folder(job.reuse)) if job.reuse and self._index.is_run(job.reuse) else None
        return self.of_spec(job.spec, self._index.root / job.run) | {"reuse": reuse}

    def of_spec(self, spec: Spec, folder: Path) -> dict[str, Any]:
        keyframes = spec.keyframes
        source = str(self._index.folder(spec.like) / layout.CONFIG) if spec.like else spec.preset
        if spec.recipe:
            source = str(self._uploads.path(spec.recipe))
        return {
            "source": source,
            "settings": settings_of(spec) | self._photo_settings(spec),
            "image": str(self._pictures.path(spec.picture)),
            "keyframes": None if keyframes is None else [str(self._pictures.path(one)) for one in keyframes],
            "folder": str(folder),
            **{name: getattr(spec, name) for name in SAME},
        }

    def _photo_settings(self, spec: Spec) -> dict[str, Any]:
        """Size and objects of a photograph; those of an earlier run are in its config."""
        if spec.preset != PRESET or spec.recipe or (spec.like and not spec.objects):
            return {}
        return self._photo.settings(spec.picture, spec.objects)

    def of_folder(self, name: str) -> Spec:
        """A task from a run's folder; runs of the command line are resumed here as well."""
        folder = self._index.folder(name)
        record = layout.load_run(folder)
        keyframes = None
        if record.keyframes:
            keyframes = tuple(self._pictures.put(image) for image in layout.load_keyframes(folder))
        return Spec(
            picture=self._pictures.put(layout.load_picture(folder, layout.INPUT)),
            prompt=record.prompt,
            preset=self.preset_of(Spec(picture="", prompt="", like=name)),
            seed=record.seed,
            method=record.method,
            attempts=record.attempts,
            plan=layout.load_plan(folder).to_json() if record.plan else None,
            keyframes=keyframes,
            like=name,
        )

    def preset_of(self, spec: Spec) -> str:
        return (preset_of(self._index.folder(spec.like)) if spec.like else "") or spec.preset

    def require(self, spec: Spec) -> None:
        """Refuse a spec whose picture or earlier run is not here any more."""
        self._pictures.path(spec.picture)
        if spec.like:
            self._index.folder(spec.like)
