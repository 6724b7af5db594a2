"""What there is to choose from: drawn scenes, photographs, presets, methods, and the words of plans."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from physplan import __version__, machine, presets
from physplan.graph import ATTRIBUTES, LAWS, RELATIONS
from physplan.graph.edits import OPERATORS
from physplan.methods import find, names
from physplan.pictures import MAX_BYTES, MAX_PIXELS
from physplan.pipeline.config_loading import load_config
from physplan_studio.photo import PRESET, PhotoDesk, missing
from physplan_studio.pictures import PictureStore
from physplan_studio.spec import QUICK, SETTINGS

SAMPLES_SECONDS = 30.0  # a page waits so long for the drawn scenes


class Offers:
    def __init__(self, pictures: PictureStore, photo: PhotoDesk) -> None:
        self._pictures, self._photo = pictures, photo
        self._samples: list[dict[str, str]] = []
        self._sampled, self._closing = threading.Event(), threading.Event()
        self._drawing = threading.Thread(target=self._draw, daemon=True)

    def begin(self) -> None:
        self._drawing.start()

    def close(self) -> None:
        self._closing.set()
        self._drawing.join(10)  # it writes into the folder, which another studio may open next

    def wait(self, seconds: float = SAMPLES_SECONDS) -> None:
        self._sampled.wait(seconds)

    def about(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """With `wait` false what there is by now: the page asks again until it is `complete`."""
        if given.get("wait") is not False:
            self.wait()
        return {
            "complete": self._sampled.is_set(),
            "version": __version__,
            "samples": self._samples,
            "photo": self._photo.about(),
            "presets": [_preset(name) for name in presets.NAMES],
            "methods": {name: find(name).about for name in names()},
            "settings": SETTINGS,
            "quick": QUICK,
            "operators": list(OPERATORS),
            "attributes": {name: list(key.examples) for name, key in ATTRIBUTES.items()},
            "relations": {name: one.meaning for name, one in RELATIONS.items()},
            "laws": {name: _law(name) for name in LAWS},
            "limits": {"bytes": MAX_BYTES, "pixels": MAX_PIXELS},
        }

    def _draw(self) -> None:
        from physplan_sandbox import samples

        self._photo.find_photographs()
        for name in samples.names():
            if self._closing.is_set():
                return
            shown = samples.sample(name)
            picture = self._pictures.put(samples.first_frame(shown))
            self._samples.append({"name": name, "prompt": shown.prompt, "picture": picture})
        self._sampled.set()


def _preset(name: str) -> dict[str, Any]:
    gpu = max((one["memory_gb"] for one in machine.gpus()), default=0.0)
    lacking = machine.missing(presets.needs(name), memory=machine.memory_gb(), gpu_memory=gpu)
    needed = [f"{one.what} ({one.fix})" for one in lacking]
    if name == PRESET and not needed and (lacks := missing()):
        needed = [lacks]
    about, method = presets.recipe(name)["about"], load_config(name).method
    return {"name": name, "about": about, "method": method, "missing": needed}


def _law(name: str) -> dict[str, Any]:
    law = LAWS[name]
    parameters: dict[str, dict[str, Any]] = {
        key: {"means": one.means, "low": one.low, "high": one.high, "choices": list(one.choices)}
        | {"default": one.default}
        for key, one in law.parameters.items()
        if not one.path  # samples are not typed
    }
    return {"formula": law.formula, "parameters": parameters}
