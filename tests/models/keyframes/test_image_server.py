"""The editor behind `/images/edits`, through the real SDK, against a server that speaks the real protocol."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from physplan.calls.gateway import CallPolicy
from physplan.calls.ledger import Ledger
from physplan.calls.protocol import CallFault, ImagePart, Request
from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.keyframes import EditRequest, NoPicture, RenderSettings, render_keyframes
from physplan.pictures import to_picture
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.requirements import require_to_plan
from physplan_models.clients.openai_images import edit_arguments
from physplan_models.keyframes.image_server import ImageServerEditor
from physplan_testing.loopback import Answer, Asked, OpenAIServer, Respond
from scenes import MELTING_KEYFRAMES, ColourSegmenter, row_depth

QUICK = CallPolicy(timeout=20.0, first_wait=0.01)
Connect = Callable[..., tuple[OpenAIServer, ImageServerEditor]]


def png(image: Image.Image) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return encoded.getvalue()


def draw(asked: Asked) -> Answer:
    """The right keyframe for the instruction, as large as it was asked for."""
    event = 1 if asked.text.startswith("Replace") else 0
    width, height = map(int, asked.body["size"].split("x"))
    return Answer(images=(png(to_picture(MELTING_KEYFRAMES[event]).resize((width, height))),))


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    monkeypatch.setenv("OPENAI_API_KEY", OpenAIServer.key)
    with ExitStack() as stack:

        def start(respond: Respond, **options: object) -> tuple[OpenAIServer, ImageServerEditor]:
            server = stack.enter_context(OpenAIServer(respond))
            settings = CallSettings(folder=tmp_path / "calls", base_url=server.url, policy=QUICK)
            return server, ImageServerEditor.connect(settings, **options)

        yield start


@pytest.fixture
def asked(chain: EventChain, first_frame: Image.Image) -> EditRequest:
    return EditRequest(image=first_frame, instruction="Melt the ice.", event=0, chain=chain, seed=7)


def test_a_chain_is_drawn_stored_and_booked(
    connect: Connect, chain: EventChain, first_frame: Image.Image, tmp_path: Path
) -> None:
    server, editor = connect(draw)
    perception = {"segmenter": ColourSegmenter(), "depth": row_depth}
    keyframes = render_keyframes(chain, first_frame, editor=editor, **perception, settings=RenderSettings())
    again = render_keyframes(chain, first_frame, editor=editor, **perception, settings=RenderSettings())
    assert [keyframe.check.problems for keyframe in keyframes] == [(), ()]
    assert [k.image.tobytes() for k in keyframes] == [k.image.tobytes() for k in again]
    assert len(server.asked) == 2, "the second time they come from the store"
    assert server.peak == 1
    assert [entry.usd for entry in Ledger(tmp_path / "calls" / "ledger.jsonl").entries()] == [0.0, 0.0]


def test_the_server_gets_the_frame_the_instruction_its_size_and_the_seed(
    connect: Connect, asked: EditRequest
) -> None:
    server, editor = connect(draw, model="an/editor")
    editor.edit(replace(asked, complaints=("the ice is still there",)))
    [seen] = server.asked
    sent = Image.open(io.BytesIO(seen.images[0]))
    assert (seen.model, seen.body["size"], seen.body["seed"]) == ("an/editor", "64x48", "7")
    assert seen.text.startswith("Melt the ice.\nAn earlier drawing was refused. Avoid this: the ice is still")
    assert np.abs(np.asarray(sent).astype(int) - np.asarray(asked.image).astype(int)).mean() < 3


def test_a_frame_is_padded_to_the_nearest_size_that_the_model_draws_and_cut_out_again(
    connect: Connect, asked: EditRequest
) -> None:
    def echo(seen: Asked) -> Answer:
        picture = Image.open(io.BytesIO(seen.images[0]))
        assert picture.size == (72, 48)
        return Answer(images=(png(picture.resize((1536, 1024))),))

    server, editor = connect(echo, sizes=["1024x1024", "1536x1024"])
    drawn = editor.edit(asked)
    assert server.asked[0].body["size"] == "1536x1024"
    assert drawn.size == asked.image.size
    assert np.abs(np.asarray(drawn).astype(int) - np.asarray(asked.image).astype(int)).mean() < 4


def test_a_drawing_of_another_shape_is_refused_with_what_to_set(connect: Connect, asked: EditRequest) -> None:
    _, editor = connect(lambda seen: Answer(images=(png(Image.new("RGB", (64, 64))),)))
    with pytest.raises(PhysPlanError, match=r"64 x 64 where 64x48 was asked for: .* editor.options.sizes"):
        editor.edit(asked)


@pytest.mark.parametrize(
    "picture",
    [b"\x89PNG but not really", b"<svg/>", png(Image.new("L", (9000, 9000)))],
    ids=["broken", "another kind", "too many pixels"],
)
def test_what_is_no_picture_may_be_drawn_again(connect: Connect, asked: EditRequest, picture: bytes) -> None:
    _, editor = connect(lambda seen: Answer(images=(picture,)))
    with pytest.raises(NoPicture, match="sent a picture that cannot be read"):
        editor.edit(asked)


@pytest.mark.parametrize(
    "reply",
    [
        {"data": [{"url": "http://127.0.0.1/a.png"}]},
        {"data": [{"b64_json": "not base64!"}]},
        {"data": [{"b64_json": 7}]},
        {"data": []},
        {"choices": []},
        [],
    ],
    ids=str,
)
def test_a_reply_without_a_picture_is_one_sentence_and_not_stored(
    connect: Connect, asked: EditRequest, reply: object, tmp_path: Path
) -> None:
    _, editor = connect(lambda seen: Answer(raw=json.dumps(reply).encode()))
    with pytest.raises(CallFault, match=r"without a picture as b64_json: does it offer /images/edits\?"):
        editor.edit(asked)
    assert not list((tmp_path / "calls").rglob("*.json"))


def test_a_reply_without_end_is_cut_off(connect: Connect, asked: EditRequest) -> None:
    _, editor = connect(lambda seen: Answer(raw=b'{"data": [{"b64_json": "' + b"A" * 64_000_000))
    with pytest.raises(CallFault, match="longer than 64000000 bytes: it is not read"):
        editor.edit(asked)


def test_a_busy_server_is_waited_for(connect: Connect, asked: EditRequest) -> None:
    answers = iter([Answer(status=503), Answer(status=429, headers={"Retry-After": "0"})])
    server, editor = connect(lambda seen: next(answers, None) or draw(seen))
    assert editor.edit(asked).size == asked.image.size
    assert len(server.asked) == 3


def test_a_server_without_this_endpoint_is_named(connect: Connect, asked: EditRequest) -> None:
    _, editor = connect(lambda seen: Answer(status=404, message="Not Found"))
    with pytest.raises(CallFault, match=r"http://127.* answered 404: .*Not Found. Check the model"):
        editor.edit(asked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image_size": "1K"}, r"no option 'image_size'. "),
        ({"size": ["64x48"]}, r"no option 'size'. Did you mean 'sizes'\?"),
        ({"sizes": "1024x1024"}, "a list such as"),
        ({"sizes": ["large"]}, "a list such as"),
    ],
)
def test_options_that_it_does_not_have_are_refused(
    connect: Connect, options: dict[str, object], said: str
) -> None:
    with pytest.raises(PhysPlanError, match=said):
        connect(draw, **options)


def test_openais_own_server_is_sent_no_field_that_it_refuses() -> None:
    request = Request(
        purpose="keyframe",
        model="an-editor",
        text="Melt the ice.",
        images=(ImagePart(data=b"...", media_type="image/jpeg"),),
        seed=7,
        output="image",
        options={"size": "1024x1024"},
    )
    own, other = (edit_arguments(request, own=own) for own in (True, False))
    assert own == {
        "model": "an-editor",
        "prompt": "Melt the ice.",
        "image": ("picture0.jpg", b"...", "image/jpeg"),
        "size": "1024x1024",
    }
    assert other == own | {"response_format": "b64_json", "extra_body": {"seed": 7}}


def test_a_server_that_is_not_there_is_said_before_anything_is_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    here = {"base_url": "http://127.0.0.1:9/v1"}
    recipe = {
        "preset": "storyboard",
        "reasoner": {"name": "open-motion", **here},
        "editor": {"name": "image-server", "base_url": "http://127.0.0.1:10/v1"},
    }
    with pytest.raises(PhysPlanError, match=r"a server at http://127.0.0.1:9/v1 .*127.0.0.1:10/v1 ") as said:
        require_to_plan(load_config(recipe), drawn=True)
    assert "key" not in str(said.value)
