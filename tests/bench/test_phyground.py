"""PhyGround: the data as published, aggregation as on its leaderboard, judges over the real protocol."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from evaluation_videos import write_video
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_bench.phyground.aggregate import VideoScores, human_scores, model_row
from physplan_bench.phyground.calibrate import Judged, auc, best_limit, compare
from physplan_bench.phyground.dataset import Prompt, read_prompts, read_ratings
from physplan_bench.phyground.judging import read_score
from physplan_bench.phyground.laws import GENERAL, LAWS
from physplan_bench.phyground.templates import Templates, read_templates
from physplan_testing.loopback import Answer, Asked, OpenAIServer

PROMPTS = [
    {"id_stem": "collision_1", "prompt": "A ball hits a can.", "physical_laws": ["collision", "shadow"]},
    {
        "id_stem": "0014_perspective-center_trimmed-ball",
        "prompt": "A ball falls.",
        "physical_laws": ["gravity"],
    },
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("prompts", "first_images", "annotations"):
        (tmp_path / name).mkdir()
    (tmp_path / "prompts" / "phyground.json").write_text(json.dumps(PROMPTS))
    for row in PROMPTS:
        Image.new("RGB", (64, 48), "grey").save(tmp_path / "first_images" / f"{row['id_stem']}.png")
    for number, score in ((1, 2), (2, 4)):
        rows = [
            {
                "model": "wan",
                "video": row["id_stem"],
                "scores": {
                    "general": dict.fromkeys(GENERAL, score),
                    "physical": dict.fromkeys(row["physical_laws"], score),
                },
                "na_laws": ["shadow"] if number == 2 else [],
            }
            for row in PROMPTS
        ]
        content = {"annotator_id": f"annotator_{number:03d}", "annotations": rows}
        (tmp_path / "annotations" / f"annotator_{number:03d}.json").write_text(json.dumps(content))
    return tmp_path


def test_overall_is_half_general_and_half_laws_weighted_by_their_number() -> None:
    """The definition beside PhyGround's leaderboard; its published rows come out to two decimals."""
    general = {"SA": 3.0, "PTV": 4.0, "persistence": 5.0}
    videos = [
        VideoScores(video="a", general=general, laws={"gravity": 1.0, "collision": 2.0, "shadow": 5.0}),
        VideoScores(video="b", general=general, laws={"gravity": 4.0, "buoyancy": None}),
    ]
    row = model_row(videos)
    assert row["Solid-Body"] == pytest.approx(7 / 3)
    assert row["Fluid"] is None
    assert row["Overall"] == pytest.approx((4 + (1 + 2 + 4 + 5) / 4) / 2)
    assert videos[1].coverage == 0.5
    assert videos[0].laws_mean == pytest.approx(8 / 3)


def test_human_ratings_are_means_over_people_without_laws_that_do_not_apply(data: Path) -> None:
    (first, second) = sorted(human_scores(read_ratings(data))["wan"], key=lambda one: one.video)
    assert second.laws == {"collision": 3.0, "shadow": 2.0}
    assert first.general["SA"] == 3.0


def test_scenes_of_physics_iq_are_known_by_their_names(data: Path) -> None:
    assert [prompt.from_physics_iq for prompt in read_prompts(data)] == [False, True]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"prompt": "x", "physical_laws": ["gravity"]}], "lacks a prompt or a video's name"),
        ([{"prompt": "x", "id_stem": "a", "physical_laws": ["magic"]}], "the law 'magic'"),
        ([{"prompt": "x", "id_stem": "../a", "physical_laws": []}], "not the stem of a file"),
        ([PROMPTS[0], PROMPTS[0]], "twice"),
        ([], "holds no list of prompts"),
    ],
)
def test_wrong_prompts_are_refused(tmp_path: Path, rows: list, message: str) -> None:
    path = tmp_path / "phyground.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(PhysPlanError, match=message):
        read_prompts(path)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"SA": 4}', 4.0),
        ('I think {"SA": 2} at first, but then {"SA": 3}', 3.0),
        ('{"SA": 9}', None),
        ('{"SA": true}', None),
        ('{"PTV": 4}', None),
        ("four", None),
    ],
)
def test_a_score_is_read_from_the_last_object_that_has_it(text: str, score: float | None) -> None:
    assert read_score(text, "SA") == score


def test_all_questions_can_come_from_the_benchmarks_code(tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    asked = {name: f'{name} of {{prompt}}? {{"{name}": 3}}' for name in (*GENERAL, *LAWS)}
    path.write_text(json.dumps({"system": "Rate.", "questions": asked}))
    templates = read_templates(path)
    assert templates.question("gravity", "a {ball}") == 'gravity of a {ball}? {"gravity": 3}'
    del asked["shadow"]
    path.write_text(json.dumps({"system": "Rate.", "questions": asked}))
    with pytest.raises(PhysPlanError, match=r"no template file of PhyGround \(KeyError\('shadow'\)\)"):
        read_templates(path)


def test_the_benchmarks_own_templates_can_word_the_questions(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "system_prompt: s\neval_prompts: {SA: 'a {prompt} {questions_block}', PTV: b, persistence: c}\n"
        "physical_template: '{law}: {criteria}; answer {{\"{law}\": 3}}'\n"
    )
    templates = read_templates(path)
    assert templates.question("SA", "ice melts").startswith("a ice melts - Does the video")
    assert templates.question("gravity", "x") == f'gravity: {LAWS["gravity"]}; answer {{"gravity": 3}}'
    assert "ice melts" in Templates().question("gravity", "ice melts")


def test_the_command_rates_every_dimension_over_the_real_protocol(
    data: Path, evaluate_command, monkeypatch
) -> None:
    videos = data / "videos"
    videos.mkdir()
    for row in PROMPTS:
        write_video(videos / f"{row['id_stem']}.mp4", np.full((20, 48, 64, 3), 90, np.uint8))
    asked_for: list[str] = []

    def answer(asked: Asked) -> Answer:
        name = re.search(r'one key "(\w+)"', asked.text)[1]  # type: ignore[index]
        asked_for.append(name)
        if name == "shadow":
            return Answer(text="I cannot tell")
        return Answer(text=json.dumps({name: 5 if name == "gravity" else 3}))

    with OpenAIServer(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        arguments = ("--data", data, "--videos", videos, "--judge", f"openai:judge@{server.url}")
        arguments += ("--frames", "4", "-o", data / "pg.json", "--work", data / "work")
        code, out, error = evaluate_command("phyground", *arguments)
        assert code == 0, error
        assert "Overall" in out
        calls = len(server.asked)
        assert all(len(asked.images) == 4 for asked in server.asked)
        assert evaluate_command("phyground", *arguments)[0] == 0
        assert len(server.asked) == calls  # nothing is paid twice
    result = json.loads((data / "pg.json").read_text())
    assert result["row"]["Solid-Body"] == 4.0
    assert result["row"]["Optical"] is None
    assert asked_for.count("shadow") == 3  # asked again, then said to be missing
    assert "1 videos have laws" in error


def test_several_methods_are_rated_and_compared_pair_by_pair(
    data: Path, evaluate_command, monkeypatch
) -> None:
    for method in ("base", "sketch"):
        (data / "videos" / method).mkdir(parents=True)
        for row in PROMPTS:
            frames = np.full((4, 48, 64, 3), 200 if method == "sketch" else 20, np.uint8)
            write_video(data / "videos" / method / f"{row['id_stem']}.mp4", frames)

    def brighter_is_better(asked: Asked) -> Answer:
        name = re.search(r'one key "(\w+)"', asked.text)[1]  # type: ignore[index]
        bright = np.asarray(Image.open(io.BytesIO(asked.images[0]))).mean() > 100
        return Answer(text=json.dumps({name: 5 if bright else 2}))

    with OpenAIServer(brighter_is_better) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        arguments = ("--data", data, "--videos", data / "videos", "--judge", f"openai:judge@{server.url}")
        arguments += ("--methods", "base", "sketch", "--frames", "2", "-o", data / "page")
        part = evaluate_command("phyground", *arguments[:-2], "--work", data / "page.cases", "--shard", "1/2")
        assert part[0] == 0, part[2]
        assert f"{len(PROMPTS) // 2 * 2} of {len(PROMPTS) * 2} cases are done" in part[1]
        assert not (data / "page").exists()
        code, out, error = evaluate_command("phyground", *arguments)
    assert code == 0, error
    assert "Pair by pair, less base" in out
    page = (data / "page" / "index.html").read_text()
    assert page.count("Pair by pair, less base</h2>") == 1
    records = json.loads((data / "page" / "result.json").read_text())["records"]
    assert {(one["method"], one["score"]) for one in records} == {("base", 2.0), ("sketch", 5.0)}
    assert all((data / "page" / one["video"]).is_file() and one["prompt"] for one in records)


def test_people_alone_make_rows(data: Path, evaluate_command) -> None:
    code, out, _ = evaluate_command("phyground", "--data", data, "--humans")
    assert code == 0
    assert "wan" in out


def judged(score: float, human: float, verdict: str = "doubtful", video: str = "a") -> Judged:
    scores = VideoScores(video=video, general={}, laws={"gravity": human})
    prompt = Prompt(video=video, text="x", laws=("gravity",))
    return Judged(model="m", prompt=prompt, verdict=verdict, score=score, human=scores)


def test_the_verdict_is_compared_without_scenes_of_physics_iq() -> None:
    rows = [judged(0.9, 5, "holds"), judged(0.8, 4.5, "holds"), judged(0.3, 2), judged(0.7, 1, "holds")]
    rows += [judged(1.0, 1, "holds", "0014_perspective-center_trimmed-ball"), judged(0.0, 5, "not checked")]
    found = compare(rows)
    assert found["left_out"] == ["0014_perspective-center_trimmed-ball"]
    assert found["laws"]["gravity"] == found["all"]
    assert found["all"]["auc"] == 1.0
    assert found["all"]["precision"] == pytest.approx(2 / 3)
    assert found["all"]["recall"] == 1.0
    assert best_limit(rows[:4]) == 0.8


def test_ties_count_half_and_one_kind_alone_has_no_auc() -> None:
    assert auc(np.array([1.0, 1.0]), np.array([True, False])) == 0.5
    assert auc(np.array([1.0, 2.0]), np.array([True, True])) is None


def test_our_verdict_is_held_against_human_ratings(data: Path, evaluate_command) -> None:
    """A still video of melting ice: one plan, and a verdict that does not hold."""
    from physplan_sandbox.samples import first_frame, sample

    shown = sample("ice-tray", 0)
    picture = first_frame(shown)
    rows = [{"id_stem": "collision_1", "prompt": shown.prompt, "physical_laws": ["collision", "shadow"]}]
    (data / "prompts" / "phyground.json").write_text(json.dumps(rows))
    picture.save(data / "first_images" / "collision_1.png")
    (data / "public" / "wan").mkdir(parents=True)
    still = np.repeat(np.asarray(picture.convert("RGB"))[None], 33, axis=0)
    write_video(data / "public" / "wan" / "collision_1.mp4", still)
    arguments = ("--data", data, "--calibrate-verify", "sandbox", "--videos", data / "public")
    code, out, error = evaluate_command("phyground", *arguments, "-o", data / "cv.json", "--work", data / "w")
    assert code == 0, error
    assert "all laws" in out
    result = json.loads((data / "cv.json").read_text())
    assert result["all"]["videos"] == 1
    assert result["all"]["precision"] is None  # nothing holds
