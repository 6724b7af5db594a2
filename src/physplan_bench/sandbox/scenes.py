"""A scene as the method sees it: its picture, the plan made from it, and keyframes with their evidence.

All of it by the pipeline's own stages, so every setting counts here as it does in a run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.guidance.paper.selection import select_terms
from physplan.keyframes import Keyframe, KeyframeEditor, RenderOptions
from physplan.perception import Evidence
from physplan.pipeline import stages
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import quiet_libraries
from physplan.pipeline.planning import make_plan
from physplan_bench.provenance import file_digest
from physplan_models.attempts.changing import require_better
from physplan_sandbox import components
from physplan_sandbox.editor import SandboxEditor, TruthEditor
from physplan_sandbox.plan_ablations import full_graph_plan, prompt_only_plan
from physplan_sandbox.video import VIDEO_SIZE
from physplan_sandbox.world.render import FRAMES, Clip
from physplan_sandbox.world.scene import Scene

PlanKind = Literal["graph", "words", "reparsed"]  # the method's own, ablation (i), ablation (ii)


def check_honoured(config: Config) -> None:
    """Refuse settings that a study in the sandbox's world would ignore."""
    if config.reasoner.name != "sandbox":
        raise PhysPlanError(
            f"The study plans with the sandbox's rules, not with reasoner.name={config.reasoner.name}: "
            "it keeps no stored answers and no budget."
        )
    if config.editor.name != "sandbox" or config.editor.options:
        raise PhysPlanError(
            "The study's keyframes are drawn by the sandbox's editor at the levels it compares: choose them "
            "with --levels, not with editor.name or editor.options."
        )
    shown, video = (FRAMES, VIDEO_SIZE, VIDEO_SIZE), config.video
    if (video.num_frames, video.height, video.width) != shown:
        raise PhysPlanError(
            f"The study compares with true videos of {shown[0]} frames of {shown[2]} x {shown[1]}: leave "
            "video.num_frames, video.height and video.width as they are."
        )


def study_config(overrides: Mapping[str, Any] | None = None) -> Config:
    """The sandbox's preset with `overrides`, checked."""
    config = with_defaults(load_config("sandbox", overrides))
    check_honoured(config)
    return config


@dataclass(frozen=True, kw_only=True)
class SceneStudy:
    """What studies of single scenes have in common: which scenes, and the sandbox's preset."""

    scenes: int
    split: str = "test"
    first: int
    config: Config

    CHANGES: ClassVar[Mapping[str, Any]] = {}  # of the preset, for all of the study

    @classmethod
    def of_preset(cls, overrides: Mapping[str, Any] | None = None, **fields: Any) -> Self:
        return cls(config=study_config({**cls.CHANGES, **(overrides or {})}), **fields)

    def identity(self, protocol: str, scene: int) -> dict[str, Any]:
        """Of a case: what decides every study's."""
        return {"benchmark": protocol, "weights": weights_digest(), "split": self.split, "scene": scene}

    @property
    def chosen(self) -> dict[str, Any]:
        return {"split": self.split, "first": self.first, "scenes": self.scenes}


def work_alone() -> None:
    """Several small networks side by side: threads would only wait for each other."""
    quiet_libraries()
    torch.set_num_threads(1)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedScene:
    """One scene of a split with what does not depend on the method, made when first asked for."""

    scene: Scene
    config: Config
    loaded: Backends | None = None
    _drawn: dict[tuple[PlanKind, int], tuple[EventChain, Evidence]] = field(default_factory=dict, repr=False)
    _keyframes: dict[tuple[PlanKind, int], tuple[Keyframe, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def backends(self) -> Backends:
        return self.loaded or Backends(self.config)

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
            return make_plan(self.config, self.backends, self.picture, self.scene.prompt, calls=Path(folder))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The names of the terms that the plan's events select."""
        return frozenset(
            term.name for event in range(len(self.chain.events)) for term in select_terms(self.chain, event)
        )

    def drawn(self, level: int, kind: PlanKind = "graph") -> tuple[EventChain, Evidence]:
        """A plan, and the evidence of the keyframes that an editor draws for it who errs at this level."""
        if (kind, level) not in self._drawn:
            self._drawn[kind, level] = self._draw(level, kind)
        return self._drawn[kind, level]

    def _draw(self, level: int, kind: PlanKind) -> tuple[EventChain, Evidence]:
        chain = self.chain
        if kind == "words":
            chain = prompt_only_plan(self.scene.prompt, chain.graph, chain.num_frames)
        drawn = stages.make_keyframes(
            self.config, self.backends, self.picture, chain, editor=self._editor(level)
        )
        self._keyframes[kind, level] = drawn.keyframes
        if kind == "reparsed":  # the editor knows the rules' words only, so nothing is redrawn
            chain = full_graph_plan(chain, self.picture, drawn.images, **self.backends.perception)
            seen = stages.look_at(self.backends, self.picture, chain, drawn.images)  # for other graphs
        else:
            seen = drawn.sightings
        return chain, stages.make_evidence(chain, seen)

    def _editor(self, level: int) -> KeyframeEditor:
        return TruthEditor(self.scene) if level == 0 else SandboxEditor(level=level)

    def problems(self, level: int, kind: PlanKind = "graph") -> dict[int, tuple[str, ...]]:
        """What is off with the keyframes, by event from 1."""
        self.drawn(level, kind)
        return {one.event + 1: one.check.problems for one in self._keyframes[kind, level]}

    def redrawn(self, level: int, kind: PlanKind, events: Sequence[int], *, seed: int) -> PreparedScene:
        """The same with these keyframes (events from 0) drawn with another seed, where that is no worse."""
        chain, _ = self.drawn(level, kind)
        config = replace(self.config, editor=replace(self.config.editor, seed=self.config.editor.seed + seed))
        again = stages.make_keyframes(
            config,
            self.backends,
            self.picture,
            chain,
            editor=self._editor(level),
            options=RenderOptions(only=list(events)),
        )
        keyframes = list(self._keyframes[kind, level])
        for one in again.keyframes:
            require_better(one, keyframes[one.event].image, keyframes[one.event].check.problems)
            keyframes[one.event] = one
        seen = stages.Sightings(first=again.first, keyframes=tuple(one.sighting for one in keyframes))
        key = kind, level
        return self._with(
            _drawn={**self._drawn, key: (chain, stages.make_evidence(chain, seen))},
            _keyframes={**self._keyframes, key: tuple(keyframes)},
        )

    def with_config(self, config: Config) -> PreparedScene:
        """The same scene, drawings and loaded models under other settings of the sampling."""
        return self._with(config=config)

    def _with(self, **changes: Any) -> PreparedScene:
        """What is made or loaded already is kept."""
        other = replace(self, loaded=self.backends, **changes)
        other.__dict__.update({name: getattr(self, name) for name in ("truth", "picture", "chain")})
        return other


@cache
def weights_digest(*, lit: bool = False) -> str:
    """All trained weights of the sandbox: other weights, other results. `lit`: those of the fine-tuned
    drawing network too, which only lit scenes look at."""
    files = sorted(components.WEIGHTS.rglob("*.safetensors"))
    files = [path for path in files if lit or path.parent.name != "lit-drawing"]
    return "-".join(file_digest(path)[:8] for path in files)
