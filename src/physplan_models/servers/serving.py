"""A server's video as the run's: parts made, asked for through the gateway, cut out, retimed, joined."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.offline import OfflineClient
from physplan.calls.prices import Price, PriceTable
from physplan.calls.protocol import Client, ImagePart, Request
from physplan.calls.settings import CallSettings, gateway_of
from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import read_file
from physplan.graph import EventChain
from physplan.keyframes.framing import Box, pad_to_ratio
from physplan.pipeline.latents_stage import unguided_clocks
from physplan.pipeline.run import Run
from physplan.pipeline.words import words_of
from physplan.sketch import Sketch
from physplan.video.clocks import Clocks
from physplan.video.files import Video, read_video, write_video
from physplan.video.known import Material, Served
from physplan_models.servers.client import MP4, VideoServerClient
from physplan_models.servers.matching import FULL, Segment, choose_seconds, choose_size, middle, segments
from physplan_models.servers.model import MODEL, abilities_of, price_of
from physplan_models.servers.protocol import Abilities, Status
from physplan_models.servers.registry import find_dialect
from physplan_models.servers.retiming import cut, retime

ABILITIES, JOBS = "video-server.json", "video-jobs"
MASK_CELL = 16  # pixels of the run's frame in a value of the noise mask
MOST_MASK = 8 * 2**20  # bytes, vLLM-Omni's limit
EXTRA_SECONDS = 15.0  # seconds more than the client's own limit, for its last words


@dataclass(frozen=True, kw_only=True, eq=False)
class Asking:
    """What all segments share."""

    run: Run
    abilities: Abilities
    size: tuple[int, int]  # asked for
    box: Box  # where the run's frame is in that
    padded: Callable[[Image.Image], Image.Image]

    def request(self, segment: Segment, parts: dict[str, ImagePart], text: str) -> Request:
        video = self.run.config.video
        fps = video.clip.fps
        seconds = choose_seconds(
            segment.frames, fps, self.abilities, last="last" in parts, slowed=segment.of_a_chain
        )
        options = {
            "parts": ",".join(parts),
            "width": str(self.size[0]),
            "height": str(self.size[1]),
            "num_frames": str(segment.frames),
            "fps": str(fps),
            "seconds": f"{seconds:g}",
        }
        given = ("num_inference_steps", "guidance_scale", "negative_prompt")
        options |= {name: str(getattr(video, name)) for name in given if getattr(video, name)}
        return Request(
            purpose="video",
            model=video.source or "",
            text=text,
            images=tuple(parts.values()),
            temperature=None,
            seed=self.run.inputs.seed if self.abilities.seed else None,
            output="video",
            options=options,
        )


def serve(run: Run, material: Material) -> Served:
    """The run's video from a server: one request, or one per event where keyframes are given."""
    abilities = _stored_abilities(run)
    asking = _asking(run, abilities)
    tell = run.tell("video")

    def on_status(status: Status) -> None:
        tell(f"{run.config.video.source}: {status.state}", done=status.progress, total=1.0)

    client = _client(run, on_status)
    gateway = _gateway(run, client, abilities)
    frames = run.config.video.clip.num_frames
    chain = material.chain
    whole = Segment(start=0, end=frames - 1)
    chained = segments(chain.anchors, frames) if chain and material.keyframes else (whole,)
    made: list[Tensor] = []
    notes = _notes(run, asking)
    try:
        for number, segment in enumerate(chained, 1):
            tell(f"asking {run.config.video.source} for video {number} of {len(chained)}")
            parts = _parts(asking, segment, material)
            reply = gateway.ask(asking.request(segment, parts, _words(run, segment, chain))).reply
            clip = _read(reply.images[0].data)
            if _slowed(asking, segment, clip):
                notes.append(
                    f"video {number}: the server's {len(clip.frames) / clip.fps:.1f} s are slowed down to"
                    f" fill {segment.frames / run.config.video.clip.fps:.1f}"
                )
            elif len(clip.frames) != segment.frames:
                notes.append(
                    f"video {number}: the server sent {len(clip.frames)} frames at {clip.fps:g} per second;"
                    f" {segment.frames} of them are used"
                )
            made.append(_as_wanted(asking, clip, segment))
    except BaseException as error:
        if not isinstance(error, PhysPlanError) and isinstance(client, VideoServerClient):
            client.cancel()
        raise
    joined = torch.cat([made[0], *(clip[1:] for clip in made[1:])])
    if len(chained) > 1:
        notes.append(f"{len(chained)} videos of the server, joined at the keyframes")
    return Served(frames=joined, notes=tuple(dict.fromkeys(notes)))


def _asking(run: Run, abilities: Abilities) -> Asking:
    size = choose_size(run.frame.size, abilities)
    _, box = pad_to_ratio(run.frame, f"{size[0]}:{size[1]}")

    def padded(image: Image.Image) -> Image.Image:
        return pad_to_ratio(image, f"{size[0]}:{size[1]}")[0].resize(size, Image.Resampling.LANCZOS)

    same = size == run.frame.size
    return Asking(
        run=run,
        abilities=abilities,
        size=size,
        box=FULL if same else box,
        padded=(lambda image: image.convert("RGB")) if same else padded,
    )


def _notes(run: Run, asking: Asking) -> list[str]:
    notes = []
    if asking.size != run.frame.size:
        width, height = asking.size
        notes.append(
            f"the server draws {width} x {height}; {run.frame.width} x {run.frame.height} are cut out of that"
        )
    if not asking.abilities.seed:
        notes.append("the server takes no seed: another run gives another video")
    return notes


def _parts(asking: Asking, segment: Segment, material: Material) -> dict[str, ImagePart]:
    first = asking.run.frame
    if material.keyframes and segment.start > 0:
        assert material.chain is not None
        first = material.keyframes[material.chain.anchors.index(segment.start)]
    parts = {"first": _png(asking.padded(first))}
    if material.keyframes and segment.event is not None:
        parts["last"] = _png(asking.padded(material.keyframes[segment.event]))
    if material.sketch is not None:
        clocks = unguided_clocks(asking.run.config, MODEL, conditioned=False)
        fps = asking.run.config.video.clip.fps
        span = slice(segment.start, segment.end + 1)
        parts["source"] = _mp4(material.sketch.frames[span], fps)
        parts["mask"] = noise_mask(material.sketch, span, clocks)
    return parts


def noise_mask(sketch: Sketch, span: slice, clocks: Clocks) -> ImagePart:
    """[T, h, w]: the noise at which a place starts from the sketch; where the plan acts it is held longer."""
    held = (sketch.masks | sketch.kept).float()[span]
    cells = torch.nn.functional.max_pool2d(held, MASK_CELL, ceil_mode=True)[:, 0]
    values = torch.where(cells > 0, 1.0 - clocks.strong, 1.0 - clocks.weak)
    rounded = [[[round(v, 3) for v in row] for row in frame] for frame in values.tolist()]
    data = json.dumps(rounded, separators=(",", ":")).encode()
    if len(data) > MOST_MASK:
        raise PhysPlanError("The noise mask is larger than 8 MiB: ask for fewer or smaller frames.")
    return ImagePart(data=data, media_type="application/json")


def _words(run: Run, segment: Segment, chain: EventChain | None) -> str:
    """The user's sentence; in a chain, what happens in this segment after it."""
    if chain is None or segment.event is None or (segment.start, segment.end) == (0, chain.num_frames - 1):
        return words_of(run, chain)
    happens = chain.events[segment.event].instruction
    return f"{run.inputs.prompt}. Now: {happens}" if happens else run.inputs.prompt


def _slowed(asking: Asking, segment: Segment, clip: Video) -> bool:
    lasts = (segment.frames - 1) / asking.run.config.video.clip.fps
    return segment.of_a_chain and lasts > len(clip.frames) / clip.fps


def _as_wanted(asking: Asking, clip: Video, segment: Segment) -> Tensor:
    run = asking.run
    height, width = clip.frames.shape[-2:]
    shown = middle((width, height), asking.size)
    across, down = shown[2] - shown[0], shown[3] - shown[1]
    left, top, right, bottom = asking.box
    box = (
        shown[0] + left * across,
        shown[1] + top * down,
        shown[0] + right * across,
        shown[1] + bottom * down,
    )
    fps = run.config.video.clip.fps
    whole = segment.event is not None or _slowed(asking, segment, clip)
    kept = retime(clip.frames, clip.fps, segment.frames, fps, whole=whole)
    return cut(kept, box, run.frame.size)


def _read(data: bytes) -> Video:
    with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
        path = Path(folder) / "served.mp4"
        path.write_bytes(data)
        try:
            return read_video(path)
        except PhysPlanError as error:
            raise PhysPlanError(str(error).replace(str(path), "it")) from None


def _check(data: bytes) -> None:
    _read(data)


def _png(image: Image.Image) -> ImagePart:
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return ImagePart(data=encoded.getvalue(), media_type="image/png")


def _mp4(frames: Tensor, fps: int) -> ImagePart:
    with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
        path = Path(folder) / "sketch.mp4"
        write_video(path, frames, fps=fps)
        return ImagePart(data=path.read_bytes(), media_type=MP4)


def _stored_abilities(run: Run) -> Abilities:
    """As they were when the run began: a list that changes must not change what was paid for."""
    path = run.calls / ABILITIES
    try:
        found = json.loads(read_file(path, limit=1_000_000, links=False))
        found["sizes"] = found["sizes"] and tuple(map(tuple, found["sizes"]))
        for name in ("durations", "between_frames"):
            found[name] = found[name] and tuple(found[name])
        return Abilities(**found)
    except FileNotFoundError:
        abilities = abilities_of(run.config)
        write_json(path, asdict(abilities))
        return abilities
    except (OSError, ValueError, TypeError, KeyError):
        raise PhysPlanError(f"{path} cannot be read: delete it to ask the server again.") from None


def _client(run: Run, on_status: Callable[[Status], None]) -> Client:
    dialect, config = find_dialect(run.config.video.dialect), run.config
    if config.runtime.offline:
        return OfflineClient(dialect.provider.name)
    url, key = dialect.provider.admitted(config.video.base_url, config.runtime.allow_hosts)
    return VideoServerClient(
        dialect,
        url=url,
        key=key,
        jobs=run.calls / JOBS,
        limit=config.video.time_limit,
        check=_check,
        on_status=on_status,
    )


def _gateway(run: Run, client: Client, abilities: Abilities) -> Gateway:
    wanted = run.config.runtime
    price = price_of(run.config, abilities)
    table = PriceTable.load(wanted.prices)
    priced = {} if price is None else {run.config.video.source or "": Price(input=0, output=0, second=price)}
    settings = CallSettings(
        folder=run.calls,
        **wanted.paying,
        policy=CallPolicy(
            timeout=run.config.video.time_limit + EXTRA_SECONDS, attempts=wanted.attempts, at_once=1
        ),
    )
    return gateway_of(client, settings, prices=replace(table, models=priced))
