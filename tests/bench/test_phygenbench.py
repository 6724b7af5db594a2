"""PhyGenBench: aggregation exact to the official one, stages as defined, judges over the real protocols."""

from __future__ import annotations

import json
from pathlib import Path

import evaluation_models as tiny
import numpy as np
import pytest
from evaluation_videos import write_video

from physplan.errors import PhysPlanError
from physplan_bench.phygenbench.aggregate import aggregate, combine, normalise_law
from physplan_bench.phygenbench.dataset import load_entries
from physplan_bench.phygenbench.judges import connect_judge
from physplan_bench.phygenbench.judging import judge_order, retrieve_middle
from physplan_bench.phygenbench.protocol import Judges
from physplan_bench.phygenbench.scorers import Blip2Scorer, ClipRanker
from physplan_bench.phygenbench.stages import (
    PhenomenonScore,
    around,
    choice_frames,
    evenly,
    is_yes,
    order_stage,
    phenomena_stage,
    phenomenon,
    read_choice,
    retrieved_order_stage,
)
from physplan_bench.pixels import clip_input
from physplan_testing.loopback import Answer, Asked, GeminiServer, OpenAIServer


def scored(category: str, single=0, multi_gpt=0, multi_llava=0, video_gpt=0, video_intern=0, law="Gravity"):
    return {
        "main_category": category,
        "sub_category": law,
        "single": single,
        "multi_gpt": multi_gpt,
        "multi_llava": multi_llava,
        "video_gpt": video_gpt,
        "video_intern": video_intern,
    }


def whole_benchmark() -> list[dict]:
    rng = np.random.default_rng(0)
    categories = ["Force"] * 40 + ["Light"] * 50 + ["Heat"] * 30
    categories += ["Physical Properties"] * 25 + ["Chemical Properties"] * 15
    return [scored(category, *map(int, rng.integers(0, 4, 5))) for category in categories]


def test_aggregation_equals_the_official_arithmetic() -> None:
    entries = whole_benchmark()
    result = aggregate(entries)
    finals = []
    for e in entries:
        closed = round((e["single"] + e["multi_gpt"] + e["video_gpt"]) / 3)
        opened = round((e["single"] + e["multi_llava"] + e["video_intern"]) / 3)
        finals.append((closed + opened) // 2)
    assert result["pca"] == pytest.approx(sum(finals) / 160 / 3)
    assert {name: group["count"] for name, group in result["domains"].items()} == {
        "Mechanics": 40,
        "Optics": 50,
        "Thermal": 30,
        "Material": 40,
    }
    assert result["domains"]["Material"]["pca"] == pytest.approx(sum(finals[120:]) / 40 / 3)
    assert result["complete"]
    weighted = sum(group["count"] * group["pca"] for group in result["domains"].values()) / 160
    assert result["pca"] == pytest.approx(weighted)


@pytest.mark.parametrize(
    ("stages", "closed", "opened", "final"),
    [
        ((0, 0, 3, 0, 3), 0, 2, 1),
        ((3, 3, 2, 3, 0), 3, 2, 2),  # floor of 2.5
        ((1, 0, 0, 0, 0), 0, 0, 0),
        ((1, 1, 0, 0, 1), 1, 1, 1),
        ((0, 1.5, 0, 0, 0), 0, 0, 0),  # a mean of 0.5 rounds half to even
        ((1.5, 1.5, 1.5, 1.5, 3), 2, 2, 2),  # and so does 1.5
    ],
)
def test_rounding_is_half_to_even_and_the_mean_is_floored(stages, closed, opened, final) -> None:
    names = ("single", "multi_gpt", "multi_llava", "video_gpt", "video_intern")
    score = combine(dict(zip(names, stages, strict=True)))
    assert (score.closed, score.open, score.final) == (closed, opened, final)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "JSON list"),
        ({"a": 1}, "JSON list"),
        ([1], "Entry 1 of the scores is not an object"),
        ([{"main_category": "Force"}], "Entry 1 of the scores lacks sub_category, single"),
        ([scored("Sound")], "'Sound', which belongs to no domain"),
        (
            [scored("Force"), scored("Force", single=4)],
            "Entry 2 of the scores: single is 4, not a score from 0 to 3",
        ),
        ([scored("Force", video_gpt=True)], "video_gpt is True"),
        ([scored("Force", video_gpt="3")], "video_gpt is '3'"),
    ],
)
def test_wrong_scores_are_refused(entries, message: str) -> None:
    with pytest.raises(PhysPlanError, match=message):
        aggregate(entries)


def test_laws_are_counted_once_whatever_their_spelling() -> None:
    assert normalise_law("Atmosphere Pressure") == normalise_law("atmospheric  pressure")
    assert normalise_law("Interference & Diffraction") == "Interference and diffraction"


def test_the_command_adds_up_recorded_scores(evaluate_command, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(whole_benchmark()))
    code, out, _ = evaluate_command("phygenbench", "--scores", path, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["pca"] == aggregate(whole_benchmark())["pca"]
    assert result["provenance"]["judge"] == "as recorded"
    code, out, _ = evaluate_command("phygenbench", "--scores", path, "--reported", "--label", "ours")
    assert "PhysPlan" in out
    assert "reported" in out
    assert f"{result['domains']['Optics']['pca']:.2f}" in out.split("ours")[1]
    path.write_text("[")
    code, _, err = evaluate_command("phygenbench", "--scores", path)
    assert code == 2
    assert "cannot be read as a JSON list" in err


# The stages


def test_two_phenomena_are_binned_by_their_sum() -> None:
    def stage(total: float) -> int:
        return phenomena_stage([PhenomenonScore(total=total / 2)] * 2)

    assert [stage(t) for t in (0.2, 1.0, 1.01, 1.5, 1.51, 2.25, 2.26, 4)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_one_phenomenon_is_binned_without_its_retrieval_score() -> None:
    def stage(rest: float) -> int:
        return phenomena_stage([PhenomenonScore(total=0.5 + rest, retrieval=0.5)])

    assert [stage(r) for r in (0, 0.24, 0.25, 0.49, 0.5, 0.74, 0.75, 1)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_best_frame_counts() -> None:
    score = phenomenon([0.9, 0.2, 0.8], [0.1, 0.9, 0.8], [0.9, 0.1, 0.2])
    assert score.total == pytest.approx(0.8 + 0.8)
    assert score.retrieval == 0.8
    first = phenomenon([0.9, 0.2], [0.9, 0.1], [0.1, 0.9])
    assert (first.total, first.retrieval, first.last_retrieval) == (pytest.approx(1.8), 0.9, 0.2)


def test_quirk_a_negative_single_score_falls_through_to_3() -> None:
    # the best frame has total 0.6, but the retrieval score taken off is the last frame's, 0.7
    question = PhenomenonScore(total=0.6, retrieval=0.5, last_retrieval=0.7)
    assert phenomena_stage([question]) == 0
    assert phenomena_stage([question], official_quirks=True) == 3


@pytest.mark.parametrize(
    ("answer", "meant", "official"),
    [
        ("Yes", True, True),
        ("No", False, False),
        ("yes, it melts", True, True),
        ("Yes, nothing else moves", True, False),  # "no" in "nothing"
        ("I do not know. Yes", True, False),
        ("No, but yes later", False, False),
        ("unclear", False, False),
        ("Yesterday", False, True),
    ],
)
def test_quirk_no_is_found_inside_words_before_yes(answer: str, meant: bool, official: bool) -> None:
    assert is_yes(answer) is meant
    assert is_yes(answer, official_quirks=True) is official


def test_quirk_of_the_open_judge_the_reason_is_searched_too() -> None:
    answer = '{"choice": "Yes", "reason": "nothing contradicts it"}'
    assert is_yes(answer)
    assert is_yes(answer, official_quirks=True)
    assert is_yes(answer, open_judge=True)
    assert not is_yes(answer, official_quirks=True, open_judge=True)


def test_order_counts_the_three_answers() -> None:
    assert order_stage([True, False, True]) == 2


def test_a_retrieved_middle_frame_needs_retrieval_and_yes() -> None:
    assert retrieved_order_stage(first=[(0.6, True)], second=[(0.6, True)], whole=True) == 3
    assert retrieved_order_stage(first=[(0.4, True), (0.9, False)], second=[(0.6, True)], whole=True) == 2
    assert retrieved_order_stage(first=[(0.4, True)], second=[(0.4, True)], whole=True) == 0


def test_quirk_the_open_judge_answers_the_third_question_without_retrieval() -> None:
    weak = {"first": [(0.4, True)], "second": [(0.4, True)], "whole": True}
    assert retrieved_order_stage(**weak, ignore_retrieval_of_whole=True) == 1


def test_the_frames_looked_at() -> None:
    assert evenly(49)[0] == 0
    assert evenly(49)[-1] == 48
    assert len(evenly(49)) == 32
    assert list(around(0, 2, 32)) == [0, 1, 2]
    assert list(around(31, 2, 32)) == [29, 30, 31]
    assert len(choice_frames(49)) == 26
    assert choice_frames(200)[:3] == [0, 7, 14]
    assert max(choice_frames(26)) == 24


# The user's copy, and judges

JUDGES = ("closed_order", "closed_choice", "open_order", "open_choice")


def write_questions(folder: Path) -> Path:
    """Two entries in the form of the real files: one literal middle frame, one retrieved."""
    folder.mkdir()
    base = [
        {
            "caption": "ice in the sun",
            "physical_laws": "ice melts",
            "sub_category": "Melting",
            "main_category": "Heat",
        },
        {
            "caption": "a pin and a balloon",
            "physical_laws": "it bursts",
            "sub_category": "Stress",
            "main_category": "Force",
        },
    ]
    questions = [
        {"Retrieval Prompt": "ice melting", "Statement": "the ice melts", "Antonym": "the ice stays"},
        {"Retrieval Prompt": "Last Frame", "Statement": "there is water", "Antonym": "there is none"},
    ]
    middles = ["Middle Frame", "pin in the balloon"]
    files = {
        "prompts": base,
        "single_question": [b | {"singleimage_question": questions[: 2 - i]} for i, b in enumerate(base)],
        "multi_question": [
            b
            | {
                "multiimage_question": {"Retrieval Prompt": m}
                | {f"Description{j}": f"{d}{j}" for j in (1, 2)}
            }
            for b, m, d in zip(base, middles, "de", strict=True)
        ],
        "explicit_prompts": [b | {"explicit_caption": "all of it"} for b in base],
        "video_question": [
            b | {"video_question": {f"Description{i}": f"c{i}" for i in range(1, 5)}} for b in base
        ],
    }
    for name, entries in files.items():
        (folder / f"{name}.json").write_text(json.dumps(entries))
    return folder


def test_the_users_copy_is_read(tmp_path: Path) -> None:
    first, second = load_entries(write_questions(tmp_path / "data"))
    assert first.order == ("d1", "d2", "all of it")
    assert first.choices == ("c1", "c2", "c3", "c4")
    assert second.middle == "pin in the balloon"
    assert second.video(Path("v")) == Path("v/output_video_2.mp4")


class Onlooker:
    """Fixed scores and answers; remembers what it was shown and asked."""

    name = "onlooker"

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], str]] = []

    def rank(self, frames, text):
        return np.array([frame[0, 0, 0] == 20 for frame in frames], float)

    def score(self, frame, text):
        return 0.9

    def ask(self, frames, description):
        self.asked.append(([int(frame[0, 0, 0]) for frame in frames], description))
        return "Yes"


def test_quirks_of_the_open_judge_old_texts_and_the_best_frame_once(tmp_path: Path) -> None:
    video = np.arange(32, dtype=np.uint8)[:, None, None, None] * np.ones((1, 4, 4, 3), np.uint8)
    folder = write_questions(tmp_path / "data")
    assert load_entries(folder)[1].open_order == ("e1", "e2", "all of it")
    entry = load_entries(folder, official_quirks=True)[1]
    assert entry.open_order == ("d1", "d2", "all of it")  # of the prompt before
    assert entry.order == ("e1", "e2", "all of it")
    judges = Judges(**dict.fromkeys(("ranker", "scorer", *JUDGES), Onlooker()))
    retrieved = retrieve_middle(video, entry, judges)
    for quirks, opened, texts, shown in (
        (False, False, "e", [0, 19, 20, 20, 21, 31]),
        (True, False, "e", [0, 19, 20, 20, 21, 31]),
        (True, True, "d", [0, 19, 20, 21, 31]),
    ):
        judge = Onlooker()
        stage, _ = judge_order(video, entry, judge, retrieved, official_quirks=quirks, open_judge=opened)
        assert stage == 3
        assert [text for _, text in judge.asked[:-1]] == [f"{texts}1"] * 2 + [f"{texts}2"] * 2
        assert judge.asked[-1] == (shown, "all of it")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    folder = write_questions(tmp_path / "data")
    entries = json.loads((folder / "explicit_prompts.json").read_text())
    del entries[1]["explicit_caption"]
    (folder / "explicit_prompts.json").write_text(json.dumps(entries))
    with pytest.raises(PhysPlanError, match=r"Entry 2 .* lacks 'explicit_caption'"):
        load_entries(folder)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    return {"clip": tiny.clip(root / "clip"), "vqa": tiny.blip2(root / "blip2")}


def frames(count: int = 6) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return list(rng.integers(0, 255, (count, 40, 56, 3)).astype(np.uint8))


def test_frames_reach_clip_as_through_its_own_processor() -> None:
    from PIL import Image
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    pictures = np.random.default_rng(0).integers(0, 256, (3, 200, 277, 3)).astype(np.uint8)
    processor = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    images = [Image.fromarray(picture) for picture in pictures]
    expected = processor(images=images, return_tensors="pt")["pixel_values"]
    levels = (clip_input(pictures, 32) - expected).abs() * 255 * 0.27
    assert levels.max() < 1.1  # a grey level, where a half is rounded the other way
    assert levels.mean() < 0.15


def test_clip_ranks_frames_by_cosine_similarity(models) -> None:
    ranker = ClipRanker(models["clip"])
    scores = ranker.rank(frames(20), "an ice cube")
    assert scores.shape == (20,)
    assert np.abs(scores).max() <= 1
    np.testing.assert_allclose(ranker.rank(frames(20)[3:4], "an ice cube"), scores[3:4], rtol=1e-4)
    assert ranker.choose(frames(), "c", "l", ["a", "b", "c", "d"]) in range(4)


def test_a_vqascore_is_the_probability_of_yes(models) -> None:
    scorer = Blip2Scorer(models["vqa"])
    score = scorer.score(frames()[0], "an ice cube")
    assert 0 < score < 1
    assert scorer.score(frames()[0], "an ice cube") == score
    assert scorer.score(frames()[0], "a ball") != score


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ('{"choice": "Yes", "reason": "it melts"}', "Yes"),
        ('```json\n{"Choice": "No", "Reason": "x"}\n```', "No"),
        ("Yes, it does", "Yes, it does"),
        ("{broken", "{broken"),
    ],
)
def test_the_choice_is_read_from_whatever_form_it_came_in(text: str, choice: str) -> None:
    assert read_choice(text) == choice


def answer(asked: Asked) -> Answer:
    if asked.text.count("Description:"):
        return Answer(text=json.dumps({"choice": "Yes", "reason": "it does"}))
    return Answer(text=json.dumps({"choice": "Slightly Unrealistic", "reason": "nearly"}))


@pytest.mark.parametrize(("server_type", "provider"), [(OpenAIServer, "openai"), (GeminiServer, "gemini")])
def test_a_judge_asks_over_the_real_protocol_and_pays_once(
    server_type, provider: str, tmp_path: Path, monkeypatch
) -> None:
    with server_type(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        monkeypatch.setenv("GEMINI_API_KEY", server.key)
        judge = connect_judge(f"{provider}:some-model@{server.url}", tmp_path)
        assert json.loads(judge.ask(frames(2), "the ice melts"))["choice"] == "Yes"
        assert judge.choose(frames(5), "ice", "melting", ["a", "b", "c", "d"]) == 2
        assert [len(asked.images) for asked in server.asked] == [2, 5]
        assert "the ice melts" in server.asked[0].text
        again = connect_judge(f"{provider}:some-model@{server.url}", tmp_path)
        assert is_yes(again.ask(frames(2), "the ice melts"))
        assert len(server.asked) == 2


def test_an_unknown_judge_is_refused() -> None:
    with pytest.raises(PhysPlanError, match="names no judge"):
        connect_judge("gpt-4o", None)


def test_a_choice_that_is_none_of_the_four_is_refused(tmp_path: Path, monkeypatch) -> None:
    with OpenAIServer(lambda asked: Answer(text='{"choice": "Fine", "reason": ""}')) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        judge = connect_judge(f"openai:m@{server.url}", tmp_path)
        with pytest.raises(PhysPlanError, match="none of: Completely Fantastical"):
            judge.choose(frames(2), "ice", "melting", ["a", "b", "c", "d"])


def test_the_command_judges_videos_end_to_end(models, evaluate_command, tmp_path: Path, monkeypatch) -> None:
    data = write_questions(tmp_path / "data")
    videos = tmp_path / "videos"
    videos.mkdir()
    for i in (1, 2):
        write_video(videos / f"output_video_{i}.mp4", np.stack(frames(34)), fps=8)
    with OpenAIServer(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        arguments = ("--data", data, "--videos", videos, "--clip", models["clip"], "--vqa", models["vqa"])
        arguments += ("--closed", f"openai:a@{server.url}", "--open", f"openai:b@{server.url}")
        arguments += ("-o", tmp_path / "out.json", "--json")
        code, out, err = evaluate_command("phygenbench", *arguments)
        assert code == 0, err
        result = json.loads(out)
        assert result["count"] == 2
        assert not result["complete"]
        assert "openai:a" in result["provenance"]["judge"]
        first, second = result["scores"]
        assert (first["multi_gpt"], first["multi_llava"], first["video_gpt"]) == (3, 3, 2)
        assert len(first["order_answers"]["closed"]) == 3
        assert 3 <= len(second["order_answers"]["closed"]) <= 5
        assert {asked.model for asked in server.asked} == {"a", "b"}
        calls = len(server.asked)
        code, _, _ = evaluate_command("phygenbench", *arguments)
        assert len(server.asked) == calls  # done cases are not judged again
    missing = videos / "output_video_2.mp4"
    missing.unlink()
    code, _, err = evaluate_command("phygenbench", *arguments)
    assert code == 2
    assert "1 of 2 videos are missing" in err


def test_first_frames_are_drawn_once(evaluate_command, tmp_path: Path, monkeypatch) -> None:
    from physplan_bench.phygenbench.dataset import load_prompts
    from physplan_bench.phygenbench.first_frames import draw_first_frames, find_first_frames

    prompts = load_prompts(write_questions(tmp_path / "data"))
    picture = bytes.fromhex("89504e470d0a1a0a")
    with GeminiServer(lambda asked: Answer(images=(picture,))) as server:
        monkeypatch.setenv("GEMINI_API_KEY", server.key)
        for _ in range(2):
            drawn = draw_first_frames(prompts, tmp_path / "frames", model="image-model", base_url=server.url)
        assert len(server.asked) == 2
        assert "ice in the sun" in server.asked[0].text
        assert drawn[1].name == "first_frame_1.png"
    found = find_first_frames(tmp_path / "frames", [1, 2])
    assert found == drawn
    assert [path.read_bytes() for path in found.values()] == [picture, picture]
    with pytest.raises(PhysPlanError, match="lacks 1 first frames, such as that of prompt 3"):
        find_first_frames(tmp_path / "frames", [1, 2, 3])
