"""From folders of videos to a study: what belongs together, and what nobody may learn."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import av
import pytest
from study_people import METHODS, write_video

from physplan.errors import PhysPlanError
from physplan_bench.study.design import load_study
from physplan_bench.study.make import Plan, choose, make_study
from physplan_bench.study.match_videos import Shown, match, read_folder
from physplan_bench.study.media import damage
from physplan_bench.videos import probe, read_video


def run_folder(folder: Path, prompt: str, **video: int) -> Path:
    """As a run leaves it, as far as a study looks."""
    folder.mkdir(parents=True)
    write_video(folder / "video.mp4", **video)
    inputs = {"prompt": prompt, "method": "physplan", "seed": 0}
    about = {"inputs": inputs, "identity": {}, "versions": {"physplan": "0"}}
    (folder / "run.json").write_text(json.dumps(about))
    return folder


def test_runs_and_plain_files_meet_by_the_words_of_their_prompts(tmp_path: Path) -> None:
    run_folder(tmp_path / "ours" / "one", "An ice cube, melting in the sun.")
    run_folder(tmp_path / "ours" / "two" / "run", "a ball falls")  # a case's folder holds its run
    (tmp_path / "theirs").mkdir()
    write_video(tmp_path / "theirs" / "an_ice_cube_melting_in_the_sun.mp4")
    write_video(tmp_path / "theirs" / "something else.mp4")
    folders = {name: read_folder(tmp_path / name) for name in ("ours", "theirs")}
    (found,) = match(folders)
    assert found.prompt == "An ice cube, melting in the sun."
    assert found.items["theirs"].video.name == "an_ice_cube_melting_in_the_sun.mp4"
    assert {item.name for item in folders["ours"]} == {"one", "two"}


def test_a_csv_names_prompts_domains_and_files(tmp_path: Path) -> None:
    for folder, names in {"a": ("0001_x", "0002_x"), "b": ("0001_y", "other")}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            write_video(tmp_path / folder / f"{name}.mp4")
    table = tmp_path / "prompts.csv"
    table.write_text("name,prompt,domain,b\n0001,ice melts,Thermal,\n0002,a ball falls,Mechanics,other.mp4\n")
    folders = {name: read_folder(tmp_path / name) for name in ("a", "b")}
    found = match(folders, table)
    assert [(one.prompt, one.domain) for one in found] == [
        ("ice melts", "Thermal"),
        ("a ball falls", "Mechanics"),
    ]
    assert [one.items["b"].name for one in found] == ["0001_y", "other"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("prompt\nx\n", "no column name"),
        ("name,prompt\n,x\n", "line 2: a row needs a name and a prompt"),
        ('name,prompt\n"a,x\n', "is not a CSV"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_wrong_csv_gets_one_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(content if isinstance(content, bytes) else content.encode())
    write_video(tmp_path / "a.mp4")
    with pytest.raises(PhysPlanError, match=sentence):
        match({"x": read_folder(tmp_path), "y": read_folder(tmp_path)}, table)


def test_several_takes_of_a_prompt_are_told_apart_by_name_or_refused(tmp_path: Path) -> None:
    for method in ("ours", "theirs"):
        for seed in ("s0", "s1"):
            run_folder(tmp_path / method / seed, "a ball falls")
    folders = {name: read_folder(tmp_path / name) for name in ("ours", "theirs")}
    assert [one.items["theirs"].name for one in match(folders)] == ["s0", "s1"]
    (tmp_path / "theirs" / "s1").rename(tmp_path / "theirs" / "s2")
    with pytest.raises(PhysPlanError, match="several videos"):
        match(folders | {"theirs": read_folder(tmp_path / "theirs")})


def test_a_video_without_any_words_asks_for_a_csv(tmp_path: Path) -> None:
    write_video(tmp_path / "0001.mp4")
    with pytest.raises(PhysPlanError, match="give a CSV"):
        match({"a": read_folder(tmp_path), "b": read_folder(tmp_path)})


def test_no_file_that_people_get_says_who_made_it(made: Path) -> None:
    study = load_study(made)
    assert len(study.pairs) == 24
    for name in study.files():
        content = (made / name).read_bytes().lower()
        for method in METHODS:
            assert method.lower().encode() not in content
            assert method.lower() not in name.lower()
        assert b"made by" not in content
    assert sorted(path.name for path in made.iterdir()) == ["frames", "study.json", "videos"]


def test_a_video_that_browsers_cannot_play_is_encoded_anew_and_said(tmp_path: Path) -> None:
    for method in ("a", "b"):
        (tmp_path / method).mkdir()
        codec = "mpeg4" if method == "b" else "libx264"
        write_video(tmp_path / method / "a ball falls.mp4", codec=codec, frames=5)
    study = make_study({m: tmp_path / m for m in ("a", "b")}, tmp_path / "study", plan=Plan(pairs=1))
    assert any("encoded anew" in note for note in study.notes)
    for name in study.prompts[0].videos.values():
        with av.open(str(tmp_path / "study" / name)) as container:
            stream = container.streams.video[0]
            assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
            assert sum(1 for _ in container.decode(video=0)) == 5


def test_videos_that_differ_in_size_or_length_are_said(tmp_path: Path) -> None:
    for method, size in (("a", 32), ("b", 48)):
        (tmp_path / method).mkdir()
        write_video(tmp_path / method / "a ball falls.mp4", size=size)
    study = make_study({m: tmp_path / m for m in ("a", "b")}, tmp_path / "study")
    assert any("a shows 32 x 32" in note and "b 48 x 48" in note for note in study.notes)
    assert study.per_participant == 1


def test_prompts_are_taken_from_every_domain_in_turn() -> None:
    domains = ["Optics"] * 20 + ["Thermal"] * 3 + ["Force"] * 5
    shown = [Shown(prompt=str(i), domain=domain, items={}) for i, domain in enumerate(domains)]
    chosen = [one.domain for one in choose(shown, 12, random.Random(0))]
    assert {name: chosen.count(name) for name in set(chosen)} == {"Optics": 4, "Thermal": 3, "Force": 5}


def test_a_damaged_video_is_as_long_and_as_large_and_looks_different(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "a.mp4", frames=6)
    damage(whole, tmp_path / "b.mp4")
    assert probe(whole) == probe(tmp_path / "b.mp4")
    difference = abs(read_video(whole).astype(float) - read_video(tmp_path / "b.mp4")).mean()
    assert difference > 15


def test_what_is_wrong_is_said_in_one_sentence_and_nothing_is_left_behind(
    folders, made: Path, tmp_path: Path, study_command
) -> None:
    ours, theirs, _ = folders.values()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "a_ball_falls_from_the_table.mp4").write_bytes(b"no video")
    out = tmp_path / "out"
    cases = {
        ("make", ours, "-o", out): "at least two",
        ("make", ours, tmp_path / "nowhere", "-o", out): "There is no folder",
        ("make", ours, ours, "-o", out): "a name of its own",
        ("make", ours, f"b={broken}", "-o", out): "cannot be read as a video",
        ("make", ours, theirs, "-o", made): "is there already",
        ("make", ours, theirs, "-o", out, "--pairs", 0): "--pairs must be",
        ("make", ours, theirs, "-o", out, "--consent", tmp_path / "no.txt"): "consent text",
        ("serve", tmp_path): "make a study with",
        ("serve", made, "--port", 99999): "--port must be",
        ("export", tmp_path, "-o", out): "make a study with",
        ("analyse", made): "no vote",
    }
    for arguments, sentence in cases.items():
        code, _, err = study_command(*arguments)
        assert code == 2, arguments
        assert sentence in err, arguments
        assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


@pytest.mark.parametrize(
    "change",
    [
        {"physplan_study": 2},
        {"pairs": [{"prompt": 99, "first": "PhysPlan", "second": "Frame Guidance"}]},
        {"per_participant": 1000},
        {"participants": -1},
        {"prompts": 3},
        {"example": {"prompt": "x", "frame": "../../secret.jpg", "good": "a", "bad": "b"}},
        {"codes": "yes"},
        {"more": 1},
    ],
)
def test_a_studys_file_from_elsewhere_is_checked(made: Path, tmp_path: Path, change: dict) -> None:
    shutil.copytree(made, tmp_path / "study")
    path = tmp_path / "study" / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(PhysPlanError):
        load_study(tmp_path / "study")
