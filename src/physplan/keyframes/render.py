"""Keyframe rendering (section 3.2): every state drawn from I_0, side by side, checked, redrawn if need be."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from PIL import Image

from physplan.calls.parallel import side_by_side
from physplan.graph import EventChain
from physplan.keyframes.check import KeyframeCheck, check_keyframe
from physplan.keyframes.framing import fit
from physplan.keyframes.protocol import EditRequest, KeyframeEditor, NoPicture
from physplan.keyframes.settings import CheckSettings, RenderSettings
from physplan.keyframes.store import DrawingStore, drawing_key
from physplan.perception import DepthEstimator, Segmenter, Sighting, first_frame_evidence, look
from physplan.pictures import to_tensor
from physplan.reasoning.picture import Picture
from physplan.reasoning.recheck import instruction_for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Keyframe:
    """The best drawing of a state, and what is still off with it."""

    event: int
    image: Image.Image
    instruction: str
    attempts: int
    check: KeyframeCheck
    sighting: Sighting  # what was seen in it when it was checked

    def report(self) -> str:
        tries = "1 drawing" if self.attempts == 1 else f"best of {self.attempts} drawings"
        verdict = "; ".join(self.check.problems) or "nothing is off"
        return f"Keyframe {self.event + 1} ({tries}, drift {self.check.drift:.1%}): {verdict}."


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """Which keyframes are drawn, and where drawings go; decides nothing of how they look."""

    store: str | os.PathLike[str] | None = None  # the folder that keeps every drawing
    only: Sequence[int] | None = None  # events from 0; None: all
    on_keyframe: Callable[[Keyframe], None] | None = None


Seen = tuple[Sighting, KeyframeCheck]


def render_keyframes(
    chain: EventChain,
    image: Image.Image,
    *,
    editor: KeyframeEditor,
    segmenter: Segmenter,
    depth: DepthEstimator,
    first: Sighting | None = None,
    seed: int = 0,
    settings: RenderSettings | None = None,
    options: RenderOptions | None = None,
) -> tuple[Keyframe, ...]:
    """One keyframe per event, each edited from the first frame; `first`: what is seen there, where known."""
    rules, options = settings or RenderSettings(), options or RenderOptions()
    image = Picture.of(image).image
    if first is None:
        first = look(chain.graph, to_tensor(image), segmenter=segmenter, depth=depth)
    evidence = first_frame_evidence(chain.graph, first)
    drawings = DrawingStore(options.store)
    looking = threading.Lock()  # the networks that look are shared by all threads

    def inspect(drawn: Image.Image, event: int) -> Seen:
        with looking:
            graph = chain.events[event].graph
            sighting = look(graph, to_tensor(drawn), segmenter=segmenter, depth=depth)
            return sighting, check_keyframe(
                chain, event, sighting, first=evidence, segmenter=segmenter, settings=rules.check
            )

    def render(event: int) -> Keyframe:
        request = EditRequest(
            image=image,
            instruction=instruction_for(chain, event),
            event=event,
            chain=chain,
            first=evidence,
            seed=seed,
        )
        keyframe = _best_drawing(
            request, lambda asked: _draw(editor, asked, drawings), inspect, redraws=rules.redraws
        )
        if options.on_keyframe:
            options.on_keyframe(keyframe)
        return keyframe

    wanted = range(len(chain.events)) if options.only is None else options.only
    return tuple(side_by_side(render, wanted, at_once=editor.at_once))


def judge_keyframes(
    chain: EventChain,
    images: Sequence[Image.Image],
    *,
    first: Sighting,
    segmenter: Segmenter,
    depth: DepthEstimator,
    settings: CheckSettings | None = None,
) -> tuple[Keyframe, ...]:
    """Given keyframes are checked like drawn ones, but not drawn again."""
    evidence = first_frame_evidence(chain.graph, first)
    keyframes = []
    for event, image in enumerate(images):
        sighting = look(chain.events[event].graph, to_tensor(image), segmenter=segmenter, depth=depth)
        check = check_keyframe(chain, event, sighting, first=evidence, segmenter=segmenter, settings=settings)
        keyframes.append(
            Keyframe(
                event=event,
                image=image,
                instruction=instruction_for(chain, event),
                attempts=1,
                check=check,
                sighting=sighting,
            )
        )
    return tuple(keyframes)


def _best_drawing(
    request: EditRequest,
    draw: Callable[[EditRequest], Image.Image],
    inspect: Callable[[Image.Image, int], Seen],
    *,
    redraws: int,
) -> Keyframe:
    """Draw, look, and draw again with what was off, until nothing is or no redraw is left."""
    best: tuple[Image.Image, Sighting, KeyframeCheck] | None = None
    refusal = ""
    attempts = 0
    while attempts <= redraws and (best is None or best[2].problems):
        attempts += 1
        try:
            drawn = draw(request)
        except NoPicture as error:
            refusal = str(error)
        else:
            sighting, check = inspect(drawn, request.event)
            if best is None or check.rank < best[2].rank:
                best = drawn, sighting, check
            request = replace(request, complaints=check.problems)
        # Far apart, so that one seed's second attempt is not the next seed's first.
        request = replace(request, seed=request.seed + 1_000_003)
    if best is None:
        raise NoPicture(f"{refusal} Given up after {attempts} attempts: try another seed or editor.")
    drawn, sighting, check = best
    return Keyframe(
        event=request.event,
        image=drawn,
        instruction=request.instruction,
        attempts=attempts,
        check=check,
        sighting=sighting,
    )


def _draw(editor: KeyframeEditor, request: EditRequest, drawings: DrawingStore) -> Image.Image:
    key = drawing_key(request, editor.identity)
    if (stored := drawings.get(key)) is not None:
        return stored
    drawn = fit(editor.edit(request), request.image.size)
    drawings.put(key, drawn)
    return drawn
