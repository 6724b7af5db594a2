from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.keyframes import (
    EditRequest,
    Keyframe,
    NoPicture,
    RenderOptions,
    RenderSettings,
    render_keyframes,
)
from physplan.pictures import to_picture
from scenes import MELTING_KEYFRAMES, ColourSegmenter, draw, melting_chain, row_depth

Drawer = Callable[[EditRequest, int], Image.Image]


class ScriptedEditor:
    """Draws what its script says for an event and an attempt; counts what it is asked."""

    at_once = 4

    def __init__(self, script: Drawer, identity: Mapping[str, Any] | None = None) -> None:
        self.script = script
        self.identity = identity or {"editor": "scripted"}
        self.requests: list[EditRequest] = []
        self.lock = threading.Lock()

    def edit(self, request: EditRequest) -> Image.Image:
        with self.lock:
            attempt = sum(one.event == request.event for one in self.requests)
            self.requests.append(request)
        return self.script(request, attempt)


def good(request: EditRequest, _: int) -> Image.Image:
    return to_picture(MELTING_KEYFRAMES[request.event])


def render(chain: EventChain, image: Image.Image, editor: object, **options: Any) -> tuple[Keyframe, ...]:
    kept = {name: options.pop(name) for name in ("store", "on_keyframe") if name in options}
    looking: dict[str, Any] = {"segmenter": ColourSegmenter(), "depth": row_depth}
    return render_keyframes(chain, image, editor=editor, **looking, options=RenderOptions(**kept), **options)


def test_every_keyframe_is_edited_from_the_first_frame(chain: EventChain, first_frame: Image.Image) -> None:
    editor = ScriptedEditor(good)
    keyframes = render(chain, first_frame, editor)
    assert [keyframe.event for keyframe in keyframes] == [0, 1]
    assert all(request.image.tobytes() == first_frame.tobytes() for request in editor.requests)
    assert {request.instruction for request in editor.requests} == {e.instruction for e in chain.events}
    assert all(set(request.first.masks) == {"ice#1", "tray#2"} for request in editor.requests)
    assert [k.image.tobytes() for k in keyframes] == [to_picture(one).tobytes() for one in MELTING_KEYFRAMES]
    assert [keyframe.attempts for keyframe in keyframes] == [1, 1]


def test_keyframes_are_drawn_side_by_side(chain: EventChain, first_frame: Image.Image) -> None:
    meeting = threading.Barrier(2, timeout=10)

    def together(request: EditRequest, attempt: int) -> Image.Image:
        meeting.wait()
        return good(request, attempt)

    assert len(render(chain, first_frame, ScriptedEditor(together))) == 2


def test_a_keyframe_that_fails_is_drawn_again_with_the_complaints_and_another_seed(
    chain: EventChain, first_frame: Image.Image
) -> None:
    def second_time(request: EditRequest, attempt: int) -> Image.Image:
        return first_frame if request.event == 1 and attempt == 0 else good(request, attempt)

    editor = ScriptedEditor(second_time)
    keyframes = render(chain, first_frame, editor, seed=5)
    assert [keyframe.attempts for keyframe in keyframes] == [1, 2]
    assert keyframes[1].check.problems == ()
    before, again = (request for request in editor.requests if request.event == 1)
    assert before.complaints == ()
    assert again.complaints == (
        "the puddle (puddle#3) was not found",
        "the ice cube (ice#1) is still there",
    )
    assert before.seed == 5
    assert again.seed != 5


def test_the_best_of_n_is_kept_and_what_is_off_is_said(chain: EventChain, first_frame: Image.Image) -> None:
    def never(request: EditRequest, attempt: int) -> Image.Image:
        if request.event == 0:
            return good(request, attempt)
        return to_picture(draw(("tray", 8, 30, 56, 40))) if attempt == 1 else first_frame

    editor = ScriptedEditor(never)
    keyframes = render(chain, first_frame, editor, settings=RenderSettings(redraws=3))
    assert sum(request.event == 1 for request in editor.requests) == 4
    assert keyframes[1].attempts == 4
    assert keyframes[1].check.problems == ("the puddle (puddle#3) was not found",)
    assert keyframes[0].report() == "Keyframe 1 (1 drawing, drift 0.0%): nothing is off."
    assert keyframes[1].report() == (
        "Keyframe 2 (best of 4 drawings, drift 0.0%): the puddle (puddle#3) was not found."
    )


def test_an_answer_without_a_picture_is_asked_for_again(chain: EventChain, first_frame: Image.Image) -> None:
    def shy(request: EditRequest, attempt: int) -> Image.Image:
        if attempt == 0:
            raise NoPicture("no picture.")
        return good(request, attempt)

    assert [keyframe.attempts for keyframe in render(chain, first_frame, ScriptedEditor(shy))] == [2, 2]

    def mute(request: EditRequest, attempt: int) -> Image.Image:
        raise NoPicture("The editor drew nothing.")

    with pytest.raises(NoPicture, match=r"drew nothing. Given up after 3 attempts: try another seed"):
        render(chain, first_frame, ScriptedEditor(mute))


def test_a_drawing_of_another_size_comes_back_in_the_frames_size(
    chain: EventChain, first_frame: Image.Image
) -> None:
    def large(request: EditRequest, attempt: int) -> Image.Image:
        return good(request, attempt).resize((192, 144), Image.Resampling.NEAREST)

    keyframes = render(chain, first_frame, ScriptedEditor(large), settings=RenderSettings(redraws=0))
    assert {keyframe.image.size for keyframe in keyframes} == {(64, 48)}
    assert all(keyframe.check.drift == 0 for keyframe in keyframes)


def test_stored_drawings_are_not_drawn_again(
    chain: EventChain, first_frame: Image.Image, tmp_path: Path
) -> None:
    def failing(request: EditRequest, attempt: int) -> Image.Image:
        return first_frame if request.event == 1 else good(request, attempt)

    first = render(chain, first_frame, ScriptedEditor(failing), store=tmp_path)
    again = ScriptedEditor(failing)
    second = render(chain, first_frame, again, store=tmp_path)
    assert again.requests == []
    assert [k.image.tobytes() for k in first] == [k.image.tobytes() for k in second]
    assert [k.check for k in first] == [k.check for k in second]


@pytest.mark.parametrize("changed", ["seed", "editor", "instruction", "image", "plan"])
def test_whatever_decides_a_drawing_draws_it_anew(
    chain: EventChain, first_frame: Image.Image, tmp_path: Path, changed: str
) -> None:
    render(chain, first_frame, ScriptedEditor(good), store=tmp_path)
    editor = ScriptedEditor(good, {"editor": "other"} if changed == "editor" else None)
    image, plan, seed = first_frame, chain, 0
    if changed == "seed":
        seed = 1
    if changed == "instruction":
        events = tuple(replace(event, instruction="Melt it.") for event in chain.events)
        plan = replace(chain, events=events)
    if changed == "image":
        image = first_frame.copy()
        image.putpixel((0, 0), (0, 0, 0))
    if changed == "plan":
        event = replace(chain.events[0], net_edits=chain.events[0].net_edits[:1])
        plan = replace(chain, events=(event, chain.events[1]))
    render(plan, image, editor, store=tmp_path, seed=seed)
    assert len(editor.requests) == (1 if changed == "plan" else 2)


def test_a_drawing_stored_before_a_crash_is_kept(
    chain: EventChain, first_frame: Image.Image, tmp_path: Path
) -> None:
    def breaks(request: EditRequest, attempt: int) -> Image.Image:
        if request.event == 1:
            raise KeyboardInterrupt
        return good(request, attempt)

    editor = ScriptedEditor(breaks)
    editor.at_once = 1
    with pytest.raises(KeyboardInterrupt):
        render(chain, first_frame, editor, store=tmp_path)
    again = ScriptedEditor(good)
    render(chain, first_frame, again, store=tmp_path)
    assert [request.event for request in again.requests] == [1]


def test_a_damaged_stored_drawing_says_what_to_do(
    chain: EventChain, first_frame: Image.Image, tmp_path: Path
) -> None:
    render(chain, first_frame, ScriptedEditor(good), store=tmp_path)
    for path in tmp_path.glob("*.png"):
        path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(PhysPlanError, match=r"stored keyframe .*png cannot be read: delete it"):
        render(chain, first_frame, ScriptedEditor(good), store=tmp_path)


def test_a_plan_without_instructions_gets_them_from_its_net_edits(first_frame: Image.Image) -> None:
    chain = melting_chain()
    chain = replace(chain, events=tuple(replace(event, instruction=None) for event in chain.events))
    editor = ScriptedEditor(good)
    keyframes = render(chain, first_frame, editor)
    assert "puddle" in keyframes[1].instruction
    assert keyframes[1].instruction.endswith("Keep everything else in the image unchanged.")
    assert "#" not in keyframes[1].instruction


def test_each_keyframe_is_announced_when_it_is_ready(chain: EventChain, first_frame: Image.Image) -> None:
    ready: list[int] = []
    render(
        chain, first_frame, ScriptedEditor(good), on_keyframe=lambda keyframe: ready.append(keyframe.event)
    )
    assert sorted(ready) == [0, 1]
