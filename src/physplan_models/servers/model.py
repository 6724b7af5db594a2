"""`video.model: server` before anything is loaded or paid: its values, what it cannot do, what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from physplan import machine
from physplan.calls.addresses import is_local
from physplan.calls.cost_estimate import CostEstimate
from physplan.calls.prices import PriceTable
from physplan.errors import PhysPlanError
from physplan.machine import Missing
from physplan.pipeline.config import Config, RuntimeConfig, VideoConfig
from physplan.video.clocks import FLOW
from physplan.video.known import Material, Served, ServedVideoModel
from physplan_models.servers.http import Transport
from physplan_models.servers.matching import choose_seconds
from physplan_models.servers.protocol import Abilities
from physplan_models.servers.registry import find_dialect

if TYPE_CHECKING:
    from physplan.pipeline.run import Run
    from physplan.video.protocol import VideoModel

NOT_SENT = ("files", "dtype", "quantisation", "attention", "eta", "use_dynamic_cfg", "revision")


class ServerModel(ServedVideoModel):
    """`video.source` is the model's name at the server; the size is the run's, matched to the server's."""

    clocks = FLOW  # of a start from the sketch
    values: Mapping[str, Any] = {"height": 480, "width": 832, "num_frames": 81, "fps": 16}

    def check_size(self, video: VideoConfig) -> None:
        find_dialect(video.dialect)
        if not video.source:
            raise PhysPlanError("video.model server needs video.source, the model's name at the server.")
        unused = [name for name in NOT_SENT if getattr(video, name) != getattr(VideoConfig(), name)]
        if unused:
            raise PhysPlanError(f"A server takes no video.{unused[0]}: leave it out.")

    def check_keyframes(self, video: VideoConfig) -> None:
        if not _abilities(video, None).last_frame:
            raise PhysPlanError(_no_last_frame(video))

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel:
        raise PhysPlanError(
            "A server sends frames, not latents: use physplan generate with --method base, conditioned or"
            " sketch."
        )

    def check_served(self, run: Run) -> None:
        """Refuse what no answer of the server could change."""
        video = run.config.video
        self.check_size(video)
        if run.method.settings is not None:
            raise PhysPlanError(
                f"{run.method.name} needs gradients, and a server gives none: use --method base,"
                " conditioned or sketch."
            )
        if run.inputs.attempts > 1:
            raise PhysPlanError("Each attempt at a server is another paid video: ask for one seed at a time.")
        if find_dialect(video.dialect).models() is None:
            _check_method(run, _abilities(video, None))

    def check_abilities(self, run: Run) -> None:
        """Refuse what the server's own list rules out, before the plan is paid for; a free request."""
        if run.config.runtime.offline:
            return
        abilities = abilities_of(run.config)
        _check_method(run, abilities)
        video = run.config.video
        frames, fps = video.clip.num_frames, video.clip.fps
        if not run.method.conditioned:  # a chain's segments are shorter; each is stretched to its own place
            choose_seconds(frames, fps, abilities)
        budget = run.config.runtime.budget
        if budget is not None and price_of(run.config, abilities) is None:
            raise PhysPlanError(
                f"No price per second is known for {video.source}, so the budget cannot be kept: add it to a"
                ' price table (--set runtime.prices=FILE, {"models": {"NAME": {"input": 0, "output": 0,'
                ' "second": USD}}}).'
            )

    def served_lacks(self, config: Config) -> Iterator[Missing]:
        """The key or the server that is not there."""
        provider = find_dialect(config.video.dialect).provider
        url = address(config)
        if provider.keyless and is_local(url):
            if not machine.answers(url):
                fix = f"start one there, or set {provider.url_variable}"
                yield Missing("server", f"a video server at {url}", fix)
            return
        provider.require_consent(url, config.runtime.allow_hosts)
        if not any(machine.has_key(key) for key in provider.keys):
            fix = f"set {provider.keys[0]}, or {provider.keys[0]}_FILE to the file that holds it"
            yield Missing("key", f"the key {' or '.join(provider.keys)}", fix)

    def estimate(self, config: Config, events: int, *, conditioned: bool) -> CostEstimate:
        return served_estimate(config, events, conditioned=conditioned)[1]

    def served_work(self, run: Run, events: int) -> tuple[str, CostEstimate]:
        """What the video stage would ask for, and at most pay; without asking the server."""
        return served_estimate(run.config, events, conditioned=run.method.conditioned)

    def serve(self, run: Run, material: Material) -> Served:
        from physplan_models.servers.serving import serve

        return serve(run, material)


MODEL = ServerModel()


def _check_method(run: Run, abilities: Abilities) -> None:
    video = run.config.video
    if run.method.conditioned and not abilities.last_frame:
        raise PhysPlanError(_no_last_frame(video))
    if run.start == "sketch" and not abilities.sketch:
        raise PhysPlanError(
            f"{video.source} at {video.dialect} takes no video with a noise mask, which a start from the"
            " sketch needs: use vllm_omni with MiniMax H3, or --method base."
        )


def _no_last_frame(video: VideoConfig) -> str:
    return (
        f"{video.source} at {video.dialect} takes no last frame, which the method conditioned needs: use"
        " --method base, or another dialect or model."
    )


def address(config: Config) -> str:
    provider = find_dialect(config.video.dialect).provider
    return config.video.base_url or provider.chosen_url or provider.url


def abilities_of(config: Config) -> Abilities:
    """What the model can do at this server; OpenRouter is asked for its list, once per process."""
    dialect = find_dialect(config.video.dialect)
    path = dialect.models()
    if path is None:
        return _abilities(config.video, None)
    url, key = dialect.provider.admitted(config.video.base_url, config.runtime.allow_hosts)
    return _abilities(
        config.video, _listed(config.video.dialect or "", url, path, key.reveal() if key else "")
    )


def price_of(config: Config, abilities: Abilities) -> float | None:
    """USD per second of video, at the dearest; None: not known."""
    if abilities.usd_per_second is not None:
        return abilities.usd_per_second
    found = PriceTable.load(config.runtime.prices).find(config.video.source or "")
    if found is not None and found.second is not None:
        return found.second
    return 0.0 if is_local(address(config)) else None


def served_estimate(config: Config, events: int, *, conditioned: bool) -> tuple[str, CostEstimate]:
    """The same of a config: a video per event and one for the end where keyframes are given, else one."""
    video = config.video
    calls = events + 1 if conditioned else 1
    frames, fps = video.clip.num_frames, video.clip.fps
    what = f"{calls} video(s) by {video.source} ({video.dialect}), {frames} frames in all"
    known = find_dialect(video.dialect).models() is None
    abilities = _abilities(video, None) if known else Abilities()
    usd = price_of(config, abilities) if known else None
    each = choose_seconds(math.ceil(frames / calls), fps, abilities, last=conditioned, slowed=conditioned)
    return what, CostEstimate(calls=calls, usd=None if usd is None else usd * each * calls)


def _abilities(video: VideoConfig, listed: Any) -> Abilities:
    return find_dialect(video.dialect).abilities(video.source or "", listed)


@cache
def _listed(dialect: str, url: str, path: str, key: str) -> Any:
    transport = Transport(url, find_dialect(dialect).headers(key), None)
    return transport.get(path, timeout=30.0)
