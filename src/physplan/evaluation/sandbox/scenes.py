"""A scene as the method sees it: its picture, the plan made from it, and keyframes with their evidence."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, TypedDict

from PIL import Image

from physplan.calls.settings import CallSettings
from physplan.evaluation.provenance import file_digest
from physplan.evaluation.sandbox.plans import regenerated, words_only
from physplan.graph import EventChain
from physplan.guidance.selection import select_terms
from physplan.keyframes import KeyframeEditor, RenderSettings, render_keyframes
from physplan.perception import DepthEstimator, Evidence, Segmenter, gather_evidence
from physplan.perception.images import to_tensor
from physplan.pipeline.config import Config
from physplan.reasoning import make_reasoner, plan
from physplan.sandbox import components
from physplan.sandbox.editor import SandboxEditor, TruthEditor
from physplan.sandbox.world.render import Clip
from physplan.sandbox.world.scene import Scene

PlanKind = Literal["graph", "words", "reparsed"]  # the method's own, ablation (i), ablation (ii)


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """One scene of a split with what does not depend on the method, made when first asked for."""

    scene: Scene
    config: Config
    _drawn: dict[tuple[PlanKind, int], tuple[EventChain, Evidence]] = field(default_factory=dict, repr=False)

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

    @cached_property
    def terms(self) -> frozenset[str]:
        """The names of the terms that the plan's events select."""
        return frozenset(
            term.name for event in range(len(self.chain.events)) for term in select_terms(self.chain, event)
        )

    def drawn(self, level: int, kind: PlanKind = "graph") -> tuple[EventChain, Evidence]:
        """A plan, and the evidence of the keyframes that an editor draws for it who errs at this level."""
        if (kind, level) not in self._drawn:
            chain, keyframes = self._planned(level, kind)
            self._drawn[kind, level] = chain, self._evidence(chain, keyframes)
        return self._drawn[kind, level]

    def _planned(self, level: int, kind: PlanKind) -> tuple[EventChain, list[Image.Image]]:
        if kind == "words":
            chain = words_only(self.scene.prompt, self.chain.graph, self.chain.num_frames)
            return chain, self._keyframes(chain, level)
        keyframes = self._keyframes(self.chain, level)
        if kind == "reparsed":  # the editor knows the rules' words only, so nothing is drawn anew
            return regenerated(self.chain, self.picture, keyframes, **_eyes()), keyframes
        return self.chain, keyframes

    def _keyframes(self, chain: EventChain, level: int) -> list[Image.Image]:
        editor: KeyframeEditor = TruthEditor(self.scene) if level == 0 else SandboxEditor(level=level)
        drawing = self.config.editor
        keyframes = render_keyframes(
            chain,
            self.picture,
            editor=editor,
            seed=drawing.seed,
            settings=RenderSettings(redraws=drawing.redraws, check=drawing.check),
            **_eyes(),
        )
        return [keyframe.image for keyframe in keyframes]

    def _evidence(self, chain: EventChain, keyframes: Sequence[Image.Image]) -> Evidence:
        return gather_evidence(
            chain, to_tensor(self.picture), [to_tensor(image) for image in keyframes], **_eyes()
        )


class _Eyes(TypedDict):
    segmenter: Segmenter
    depth: DepthEstimator


def _eyes() -> _Eyes:
    return {"segmenter": components.load_segmenter(), "depth": components.load_depth()}


@cache
def weights_digest() -> str:
    """All trained weights of the sandbox: other weights, other results."""
    files = sorted(components.WEIGHTS.rglob("*.safetensors"))
    return "-".join(file_digest(path)[:8] for path in files)
