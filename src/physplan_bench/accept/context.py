"""What the stages share: the preset's config, the folder, and a scene with a plan that needs no key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from physplan.pipeline.config import Config
from physplan.runs import layout

if TYPE_CHECKING:
    from physplan.graph import EventChain
    from physplan.pipeline import PhysPlan
    from physplan.video.base import FamilyModel

PROMPT = "the ball drops"
SCENE = 200  # of the small world: one ball, one event


@dataclass(kw_only=True)
class Acceptance:
    """`config` has its defaults. Runs and pictures lie below `folder`."""

    config: Config
    folder: Path
    budget: float = 0.0

    @property
    def samples(self) -> bool:
        """Whether a video model with weights of its own is part of the preset."""
        from physplan.methods import find

        own = self.config.video.model not in ("server", "sandbox")
        return own and find(self.config.method).samples

    @cached_property
    def pp(self) -> PhysPlan:
        from physplan.pipeline import PhysPlan

        return PhysPlan(self.config)

    @property
    def model(self) -> FamilyModel:
        model: Any = self.pp.backends.video
        return model  # type: ignore[no-any-return]

    @cached_property
    def scene(self) -> Path:
        """A storyboard run in the small world: its picture, plan and keyframes, the same everywhere."""
        from physplan.pipeline import PhysPlan
        from physplan_sandbox.world.phenomena import scene

        folder = self.folder / "scene"
        picture = Image.fromarray(scene("validation", SCENE).render().frames[0])
        PhysPlan.from_preset("sandbox").generate(picture, PROMPT, method="storyboard", output_dir=folder)
        return folder

    @property
    def picture(self) -> Image.Image:
        return layout.load_picture(self.scene, layout.INPUT)

    @property
    def given(self) -> dict[str, Any]:
        """Plan and keyframes as every run of the preset is given them."""
        return {"plan": layout.load_plan(self.scene), "keyframes": layout.load_keyframes(self.scene)}

    @cached_property
    def states(self) -> Path:
        """A run of the preset's up to its evidence: what its own segmenter finds in picture and keyframes."""
        folder = self.folder / "runs" / "states"
        self.pp.sketch(self.picture, **self.given, output_dir=folder)
        return folder

    @property
    def chain(self) -> EventChain:
        return layout.load_plan(self.states)


def photograph(name: str = "coffee") -> Image.Image:
    """`coffee` and `chelsea` of scikit-image's data, both CC0, made smaller."""
    with resources.files(__package__).joinpath("data", f"{name}.jpg").open("rb") as file:
        return Image.open(file).convert("RGB")
