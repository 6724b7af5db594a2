"""A photograph's plan by a model behind a server, in place of the grammar: from the sentence to the video."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.photo.conftest import need, photograph

from physplan.cli import main
from physplan.runs import layout
from physplan.video.files import read_video
from physplan_testing.loopback import Answer, Asked, OpenAIServer
from physplan_testing.melting import KEEP, edit, node, state

SENTENCE = "a gust of wind blows the rocket over"  # which the grammar of verbs cannot read
ANSWERS: dict[str, Any] = {
    "nodes": {"nodes": [node("rocket#1", "rocket", configuration="upright")], "edges": []},
    "deltas": {"deltas": [{"states": [state("rocket#1", "on its side", "wind turns it")], "fraction": 0.8}]},
    "edits": {
        "edits": [edit("Update", o="rocket#1", key="configuration", value="tipped over to the right")],
        "motion": [{"o": "rocket#1", "law": "tip", "rise": 0, "angle": 90, "to": ""}],
    },
    "instruction": {"instruction": f"Lay the rocket on its right side. {KEEP}"},
}


def respond(asked: Asked) -> Answer:
    return Answer(text=json.dumps(ANSWERS[asked.act]))


def test_a_sentence_beyond_the_grammar_becomes_a_video_by_a_models_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("mobile_sam.pt", "migan_pipeline_v2.onnx")
    picture, run = tmp_path / "rocket.png", tmp_path / "run"
    photograph("rocket.jpg").save(picture)
    given = ["--object", "rocket@320,240@322,150", "--width", "320", "--seconds", "0.4", "-o", str(run)]
    assert main(["photo", str(picture), "--prompt", SENTENCE, *given]) != 0
    with OpenAIServer(respond) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        settings = ("reasoner.name=open-motion", "reasoner.model=loopback", f"reasoner.base_url={server.url}")
        said = [word for one in settings for word in ("--set", one)]
        assert main(["photo", str(picture), "--prompt", SENTENCE, *given, *said]) == 0
        assert {"nodes", "deltas", "edits"} <= set(server.acts())
        assert all(asked.images for asked in server.asked if asked.act == "nodes"), "it saw the photograph"
    chain = layout.load_plan(run)
    assert [entry.law for entry in chain.events[0].motion] == ["tip"]
    frames = read_video(run / "video.mkv").frames
    evidence = layout.load_evidence(run)
    rocket, turned = evidence.first.masks["rocket#1"], evidence.keyframes[0].masks["rocket#1"]
    tall, wide = (int(rocket.any(axis).sum()) for axis in (1, 0))
    assert tall > 1.5 * wide
    assert int(turned.any(0).sum()) > 1.5 * int(turned.any(1).sum()), "it lies"
    assert (frames[-1] - frames[0]).abs().amax(0)[rocket].mean() > 0.1
