"""The Gemini editor through the real SDK, against a server on this machine that speaks the real protocol."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from physplan.calls.gateway import CallPolicy
from physplan.calls.ledger import Ledger
from physplan.calls.settings import CallSettings
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
from physplan_models.keyframes.gemini import GeminiEditor
from physplan_testing.loopback import Answer, Asked, GeminiServer, Respond
from scenes import MELTING_KEYFRAMES, ColourSegmenter, row_depth

QUICK = CallPolicy(timeout=5.0, first_wait=0.01)


def png(image: Image.Image) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return encoded.getvalue()


def draw(asked: Asked) -> Answer:
    """The right keyframe for the instruction, in the size a real model answers with."""
    event = 1 if asked.text.startswith("Replace") else 0
    picture = to_picture(MELTING_KEYFRAMES[event]).resize((1200, 896), Image.Resampling.NEAREST)
    return Answer(images=(png(picture),))


class Site:
    """A server with a response, and editors that ask it."""

    def __init__(self, server: GeminiServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def editor(self, **options: object) -> GeminiEditor:
        settings = CallSettings(
            **{"folder": self.folder / "calls", "base_url": self.server.url, "policy": QUICK, **options}
        )
        return GeminiEditor.connect(settings)

    def render(self, chain: EventChain, image: Image.Image, **options: object) -> tuple[Keyframe, ...]:
        return render_keyframes(
            chain,
            image,
            editor=options.pop("editor", None) or self.editor(),
            segmenter=ColourSegmenter(),
            depth=row_depth,
            settings=RenderSettings(redraws=options.pop("redraws", 2)),
            options=RenderOptions(store=options.pop("store", None)),
        )


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator:
    servers: list[GeminiServer] = []
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)

    def start(respond: Respond) -> Site:
        server = GeminiServer(respond)
        server.__enter__()
        servers.append(server)
        return Site(server, tmp_path)

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def test_a_chain_is_drawn_in_one_call_per_keyframe(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    site = serve(draw)
    keyframes = site.render(chain, first_frame)
    assert [keyframe.check.problems for keyframe in keyframes] == [(), ()]
    assert len(site.server.asked) == 2
    assert {keyframe.image.size for keyframe in keyframes} == {first_frame.size}
    for event, keyframe in enumerate(keyframes):
        expected = np.asarray(to_picture(MELTING_KEYFRAMES[event])).astype(int)
        assert np.abs(np.asarray(keyframe.image).astype(int) - expected).mean() < 2


def test_the_model_gets_the_first_frame_the_instruction_and_the_shape(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    site = serve(draw)
    site.render(chain, first_frame)
    for asked in site.server.asked:
        assert asked.model == "gemini-3-pro-image-preview"
        assert asked.text in {event.instruction for event in chain.events}
        assert asked.modalities == ("IMAGE", "TEXT")
        assert asked.body["generationConfig"]["imageConfig"] == {"aspectRatio": "4:3", "imageSize": "1K"}
        (sent,) = asked.images
        picture = np.asarray(Image.open(io.BytesIO(sent))).astype(int)
        assert np.abs(picture - np.asarray(first_frame).astype(int)).mean() < 3


def test_a_frame_of_another_shape_is_padded_for_the_model_and_cut_out_again(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    """64 x 40 is no shape the model knows: it must neither be stretched nor reframed."""
    sizes: list[tuple[int, int]] = []

    def echo(asked: Asked) -> Answer:
        picture = Image.open(io.BytesIO(asked.images[0]))
        sizes.append(picture.size)
        return Answer(images=(png(picture.resize((picture.width * 16, picture.height * 16))),))

    site = serve(echo)
    frame = first_frame.crop((0, 4, 64, 44))
    drawn = site.editor().edit(EditRequest(image=frame, instruction="Keep everything.", event=0, chain=chain))
    assert site.server.asked[0].body["generationConfig"]["imageConfig"]["aspectRatio"] == "3:2"
    assert sizes == [(64, 43)]
    assert drawn.size == (64, 40)
    assert np.abs(np.asarray(drawn).astype(int) - np.asarray(frame).astype(int)).mean() < 4


def test_a_refused_drawing_is_asked_for_again_with_what_was_wrong(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    def lazy(asked: Asked) -> Answer:
        return draw(asked) if "refused" in asked.text else Answer(images=(png(first_frame),))

    site = serve(lazy)
    keyframes = site.render(chain, first_frame)
    assert [keyframe.attempts for keyframe in keyframes] == [2, 2]
    again = [asked for asked in site.server.asked if "refused" in asked.text]
    assert any("the ice cube (ice#1) is still there" in asked.text for asked in again)
    seeds = [asked.body["generationConfig"].get("seed") for asked in site.server.asked]
    assert len(set(seeds)) == 2


def test_an_answer_in_words_is_asked_again_then_reported(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    site = serve(lambda asked: Answer(text="I would rather describe it."))
    with pytest.raises(
        NoPicture, match=r"drew no picture for keyframe \d; it said: I would rather describe it"
    ):
        site.render(chain, first_frame, redraws=1)
    assert len(site.server.asked) >= 2


def test_bytes_that_are_no_picture_count_as_no_picture(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    site = serve(lambda asked: Answer(images=(b"\x89PNG but not really",)))
    with pytest.raises(NoPicture, match="cannot be read"):
        site.render(chain, first_frame, redraws=0)


def test_a_busy_server_is_waited_for(serve, chain: EventChain, first_frame: Image.Image) -> None:
    calls = []

    def busy(asked: Asked) -> Answer:
        calls.append(asked)
        return Answer(status=503, message="overloaded") if len(calls) <= 2 else draw(asked)

    site = serve(busy)
    assert [keyframe.attempts for keyframe in site.render(chain, first_frame)] == [1, 1]


def test_drawings_are_paid_for_once(serve, chain: EventChain, first_frame: Image.Image) -> None:
    site = serve(draw)
    before = site.render(chain, first_frame)
    after = site.render(chain, first_frame)
    assert len(site.server.asked) == 2
    assert [k.image.tobytes() for k in before] == [k.image.tobytes() for k in after]


def test_every_drawing_is_in_the_ledger_at_the_price_of_a_picture(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    site = serve(draw)
    editor = site.editor()
    site.render(chain, first_frame, editor=editor)
    spent = Ledger(site.folder / "calls" / "ledger.jsonl")
    # 2 pictures at 0.134, and 2 x (1000 tokens in at 2 + 200 out at 12 USD per million)
    assert spent.totals().usd == pytest.approx(2 * (0.134 + 1000 * 2e-6 + 200 * 12e-6))


def test_the_budget_stops_a_drawing_before_it_is_asked_for(
    serve, chain: EventChain, first_frame: Image.Image
) -> None:
    site = serve(draw)
    with pytest.raises(PhysPlanError, match=r"[Bb]udget"):
        site.render(chain, first_frame, editor=site.editor(budget=0.01))
    assert site.server.asked == []


def test_without_a_key_one_sentence_says_how_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PhysPlanError, match="Gemini needs a key: set GEMINI_API_KEY"):
        GeminiEditor.connect()
