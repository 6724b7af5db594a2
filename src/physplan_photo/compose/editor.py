"""The keyframe editor `compose` and the sketch of the same renderer: a keyframe is a frame of the sketch."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain, Motion
from physplan.graph.motion import LAWS, motions_from_json, parameter_problem
from physplan.keyframes import EditRequest
from physplan.perception import Evidence, KeyframeEvidence
from physplan.pictures import to_tensor
from physplan.sketch import Sketch
from physplan.sketch.registry import LAYERS
from physplan.sketch.scene import changes
from physplan.sketch.whole import wholes
from physplan_photo.compose.config import ComposeConfig
from physplan_photo.compose.cutouts import Array
from physplan_photo.compose.render import Renderer

MIN_DIFFERENCE = 0.02
KEPT_PLATES = 2
_renderers: OrderedDict[str, Renderer] = OrderedDict()


def renderer_of(chain: EventChain, first: KeyframeEvidence, config: ComposeConfig) -> Renderer:
    """The renderer of a plan and its photograph; the last ones are kept, with their backgrounds."""
    image = np.ascontiguousarray(first.image.cpu().permute(1, 2, 0).numpy(), dtype=np.float32)
    masks = {id: mask.cpu().numpy() for id, mask in first.masks.items()}
    mark = hashlib.sha256(image.tobytes())
    for id, mask in masks.items():
        mark.update(id.encode() + np.packbits(mask).tobytes())
    mark.update(json.dumps([chain.to_json(), asdict(config)], sort_keys=True, default=str).encode())
    key = mark.hexdigest()
    if key not in _renderers:
        seed = zlib.crc32(chain.prompt.encode())
        _renderers[key] = Renderer(
            chain=chain, image=image, masks=masks, seed=seed, config=config, **_layers(chain, first, config)
        )
        while len(_renderers) > KEPT_PLATES:
            _renderers.popitem(last=False)
    return _renderers[key]


def _layers(chain: EventChain, first: KeyframeEvidence, config: ComposeConfig) -> dict[str, Any]:
    """What the source of layers shows of the ground, and of things that stand half hidden."""
    acting = {
        id: first.masks[id]
        for id, entries in changes(chain).items()
        if id in first.masks and first.masks[id].any() and not all(change.look_only for change in entries)
    }
    if config.layers == "none" or not acting:
        return {}
    words = {id: chain.node(id).category for id in acting}
    found = LAYERS.load(config.layers)(**config.layer_options)(first.image, words, acting)
    hidden = wholes(chain, first, (), acting, found.objects)
    return {
        "behind": None if found.plate is None else _array(found.plate),
        "wholes": {
            id: (_array(torch.where(outline, image, first.image)), outline.cpu().numpy())
            for id, (image, outline) in hidden.items()
        },
    }


def _array(image: Tensor) -> Array:
    return np.ascontiguousarray(image.cpu().permute(1, 2, 0).numpy(), dtype=np.float32)


class Remembers(Protocol):
    def remember(self, image: Any, masks: Mapping[str, Any]) -> None: ...


class ComposeEditor:
    """Draws a state from the photograph's own pixels, the plan's edits and its laws; reads no instruction."""

    at_once = 1
    calls_out = None

    def __init__(self, *, segmenter: Remembers | None = None, **settings: Any) -> None:
        """`segmenter` is given the masks of each keyframe, so that nothing is looked for again."""
        self.config = ComposeConfig(**settings)
        self._segmenter = segmenter
        self.identity: Mapping[str, Any] = {"editor": "compose", "version": 2, **asdict(self.config)}

    def edit(self, request: EditRequest) -> Image.Image:
        if request.first is None:
            raise PhysPlanError("The editor 'compose' cuts objects out by their masks: give it a segmenter.")
        drawn = renderer_of(request.chain, request.first, self.config).frame(
            request.chain.events[request.event].anchor
        )
        picture = Image.fromarray(np.round(drawn.image * 255).astype(np.uint8))
        if self._segmenter is not None:
            named: dict[str, list[Any]] = {}
            for id, mask in drawn.masks.items():
                named.setdefault(request.chain.node(id).category, []).append(mask)
            self._segmenter.remember(to_tensor(picture), named)
        return picture


def make_photo_sketch(chain: EventChain, evidence: Evidence, **settings: Any) -> Sketch:
    """Every frame of the plan, by the renderer that drew the keyframes; `evidence` gives the photograph."""
    config = ComposeConfig(**settings)
    renderer = renderer_of(chain, evidence.first, config)
    height, width = evidence.first.depth.shape
    frames = _frames(renderer)
    masks = torch.stack(
        [(frame - frames[0]).abs().amax(0, keepdim=True) > MIN_DIFFERENCE for frame in frames]
    )
    simulated = as_simulated(chain)
    otherwise = None if simulated is None else _frames(renderer_of(simulated, evidence.first, config))
    acting = {*renderer.tracks, *renderer.emitters}
    still = [
        m for id, m in evidence.first.masks.items() if id not in acting and float(m.float().mean()) < 0.3
    ]
    kept = torch.stack(still).any(0) if still else torch.zeros(height, width, dtype=torch.bool)
    orders = tuple(renderer._order(event) for event in range(len(chain.events)))
    notes = [str(note) for note in chain.provenance.get("notes", ())]
    return Sketch(
        frames=frames,
        masks=masks,
        kept=kept[None],
        orders=orders,
        notes=(*notes, *renderer.notes),
        otherwise=otherwise,
    )


def _frames(renderer: Renderer) -> Tensor:
    frames = torch.empty(renderer.chain.num_frames, 3, *renderer.image.shape[:2])
    for number in range(len(frames)):
        frames[number] = torch.from_numpy(renderer.frame(number).image).permute(2, 0, 1)
    return frames


def as_simulated(chain: EventChain) -> EventChain | None:
    """The plan with the ways that its simulation gave, where they contradict it; None where none does."""
    given = chain.provenance.get("simulated")
    if not isinstance(given, list) or len(given) != len(chain.events):
        return None
    ways = [motions_from_json(entries) for entries in given]
    if not all(_is_simulated(way) and way.o in chain.graph for event in ways for way in event):
        return None
    events = tuple(
        replace(event, motion=(*(one for one in event.motion if one.o not in {way.o for way in own}), *own))
        for event, own in zip(chain.events, ways, strict=True)
    )
    return replace(chain, events=events, provenance={})


def _is_simulated(way: Motion) -> bool:
    given, law = dict(way.parameters), LAWS["trajectory"]
    return (
        way.law == law.name
        and "path" in given
        and not any(parameter_problem(law, *one) for one in given.items())
    )
