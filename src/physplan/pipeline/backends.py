"""The models of a config, each loaded when it is first used."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.calls.gateway import CallPolicy, CallRecord
from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.keyframes.registry import EDITORS
from physplan.perception.registry import DEPTH_ESTIMATORS, ENCODERS, SEGMENTERS
from physplan.pipeline.config import Component, Config, ReasonerConfig
from physplan.pipeline.events import quiet_libraries
from physplan.reasoning import Reasoner, make_reasoner
from physplan.registry import Registry, did_you_mean
from physplan.video.known import video_model

if TYPE_CHECKING:
    from physplan.keyframes import KeyframeEditor
    from physplan.perception import DepthEstimator, FeatureEncoder, Segmenter
    from physplan.perception.protocol import PerceptionModels
    from physplan.video.protocol import VideoModel

OnCall = Callable[[CallRecord], None]


@contextmanager
def cpu_threads(threads: int | None) -> Iterator[None]:
    """So many threads of torch within this block; None: as many as there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Backends:
    """Reasoners and editors that call a paid API are created per run, as each run has its own ledger."""

    def __init__(self, config: Config) -> None:
        self.config = config

    @cached_property
    def segmenter(self) -> Segmenter:
        return self._load(SEGMENTERS, self.config.perception.segmenter)  # type: ignore[no-any-return]

    @cached_property
    def depth(self) -> DepthEstimator:
        return self._load(DEPTH_ESTIMATORS, self.config.perception.depth)  # type: ignore[no-any-return]

    @cached_property
    def encoder(self) -> FeatureEncoder:
        return self._load(ENCODERS, self.config.perception.encoder)  # type: ignore[no-any-return]

    @property
    def perception(self) -> PerceptionModels:
        """What looks at pictures: the segmenter and the depth estimator."""
        return {"segmenter": self.segmenter, "depth": self.depth}

    @cached_property
    def video(self) -> VideoModel:
        quiet_libraries()
        wanted = self.config.video
        return video_model(wanted.model).load(wanted, self.config.runtime)

    def reasoner(
        self, calls: Path | None, on_call: OnCall | None = None, wanted: ReasonerConfig | None = None
    ) -> Reasoner:
        """The config's, or the one that a method asks for in its place."""
        wanted = wanted or self.config.reasoner
        settings = replace(
            self._calls(calls, wanted.base_url),
            on_call=on_call,
            model=wanted.model,
            temperature=wanted.temperature,
            max_output_tokens=wanted.max_output_tokens,
        )
        return make_reasoner(
            wanted.name, settings, prompts=wanted.prompts, load_segmenter=lambda: self.segmenter
        )

    def editor(self, calls: Path | None) -> KeyframeEditor:
        wanted = self.config.editor
        kind = EDITORS.load(wanted.name)
        if hasattr(kind, "connect"):
            settings = self._calls(calls, wanted.base_url)
            return _call(kind.connect, wanted.name, {"settings": settings, **wanted.options})  # type: ignore[no-any-return]
        if "_editor" not in self.__dict__:
            options = dict(wanted.options)
            if "segmenter" in inspect.signature(getattr(kind, "from_pretrained", kind)).parameters:
                options["segmenter"] = self.segmenter  # an editor that knows the masks of what it draws
            self._editor = self._load(EDITORS, Component(name=wanted.name, options=options))
        return self._editor  # type: ignore[no-any-return]

    def release(self, *names: str) -> None:
        """Let models go that no later stage needs, where memory is short."""
        if self.config.runtime.keep_models:
            return
        import torch

        for name in names:
            self.__dict__.pop("_editor" if name == "editor" else name, None)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _calls(self, folder: Path | None, base_url: str | None) -> CallSettings:
        run = self.config.runtime
        return CallSettings(
            folder=folder,
            base_url=base_url,
            allow_hosts=run.allow_hosts,
            **run.paying,
            policy=CallPolicy(timeout=run.timeout, attempts=run.attempts, at_once=run.at_once),
        )

    def _load(self, registry: Registry, wanted: Component) -> Any:
        from physplan.weights import DTYPES

        quiet_libraries()
        kind = registry.load(wanted.name)
        make = getattr(kind, "from_pretrained", kind)
        options = dict(wanted.options)
        if "torch_dtype" in options and options["torch_dtype"] in DTYPES:
            options["torch_dtype"] = DTYPES[options["torch_dtype"]]
        if "device" in inspect.signature(make).parameters and not options.get("cpu_offload"):
            options.setdefault("device", self.config.runtime.device)
        return _call(make, wanted.name, options)


def _call(make: Callable[..., Any], name: str, options: Mapping[str, Any]) -> Any:
    """With an option that it does not take, say so, before anything is loaded."""
    known = inspect.signature(make).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    for option in options:
        if option not in known and not open_ended:
            raise PhysPlanError(f"{name} has no option {option!r}. {did_you_mean(option, list(known))}")
    return make(**options)
