"""A scene as the method sees it: its picture, the plan made from it, and keyframes with their evidence."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from PIL import Image

from physplan.evaluation.provenance import file_digest
from physplan.graph import EventChain
from physplan.keyframes import KeyframeEditor, RenderSettings, render_keyframes
from physplan.perception import Evidence, gather_evidence
from physplan.perception.images import to_tensor
from physplan.pipeline.config import Config
from physplan.reasoning import CallSettings, make_reasoner, plan
from physplan.sandbox import components
from physplan.sandbox.editor import SandboxEditor, TruthEditor
from physplan.sandbox.world.render import Clip
from physplan.sandbox.world.scene import Scene


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """One scene of a split with what does not depend on the method, made when first asked for."""

    scene: Scene
    config: Config
    _evidence: dict[int, Evidence] = field(default_factory=dict, repr=False)

    @cached_property
    def truth(self) -> Clip:
        return self.scene.render()

    @cached_property
    def picture(self) -> Image.Image:
        return Image.fromarray(self.truth.frames[0])

    @cached_property
    def chain(self) -> EventChain:
        """The reasoner's plan: it sees the picture and the prompt, never the truth."""
        with tempfile.TemporaryDirectory(prefix="physplan-plan-") as folder:
            reasoner = make_reasoner(self.config.reasoner.name, CallSettings(folder=Path(folder)))
            return plan(reasoner, self.picture, self.scene.prompt, len(self.truth.frames))

    def evidence(self, level: int) -> Evidence:
        """Of the keyframes that an editor draws who errs at this level."""
        if level not in self._evidence:
            self._evidence[level] = self._draw(level)
        return self._evidence[level]

    def _draw(self, level: int) -> Evidence:
        look = {"segmenter": components.load_segmenter(), "depth": components.load_depth()}
        editor: KeyframeEditor = TruthEditor(self.scene) if level == 0 else SandboxEditor(level=level)
        drawing = self.config.editor
        keyframes = render_keyframes(
            self.chain,
            self.picture,
            editor=editor,
            seed=drawing.seed,
            settings=RenderSettings(redraws=drawing.redraws, check=drawing.check),
            **look,  # type: ignore[arg-type]
        )
        return gather_evidence(
            self.chain,
            to_tensor(self.picture),
            [to_tensor(keyframe.image) for keyframe in keyframes],
            **look,  # type: ignore[arg-type]
        )


@cache
def weights_digest() -> str:
    """All trained weights of the sandbox: other weights, other results."""
    files = sorted(components.WEIGHTS.rglob("*.safetensors"))
    return "-".join(file_digest(path)[:8] for path in files)
