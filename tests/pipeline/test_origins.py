"""A run told by its video, and made again from it: the same frames, and nothing of the machine."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.pipeline import tiny_pipelines

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.origin import Origin, read_origin
from physplan.pipeline import PhysPlan, Result
from physplan.pipeline.config_loading import read_assignments
from physplan.pipeline.origins import config_of, plan_of, run_again
from physplan.video.files import write_video
from physplan_sandbox.samples import first_frame, sample
from physplan_testing.loopback import GeminiServer

SHORT = {
    "video.num_inference_steps": 4,
    "guided_sketch.schedule": {"layout_steps": 1, "guided_steps": 2, "repeats": 1},
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of the sandbox, of a picture that is wider than its video."""
    scene = sample("ice-tray", 0)
    frame = first_frame(scene)
    picture = Image.new("RGB", (frame.width + 8, frame.height), "magenta")
    picture.paste(frame, (4, 0))
    folder = tmp_path_factory.mktemp("runs") / "first"
    pp = PhysPlan.from_preset("sandbox", **SHORT)
    return pp.generate(picture, scene.prompt, seed=3, output_dir=folder)


@pytest.fixture(scope="module")
def made(result: Result) -> Path:
    assert result.folder is not None
    return result.folder


def test_a_renamed_copy_restores_a_run_whose_files_are_equal(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "holiday.m4v"
    shutil.copyfile(made / "video.mp4", copy)
    assert main(["show", str(copy), "--again", str(tmp_path / "again")]) == 0
    told = capsys.readouterr().out
    assert "Its frames are equal to those of the video." in told
    assert "trainedAlgorithmicMedia" in told
    assert "guided_sketch, seed 3, preset sandbox" in told
    for name in ("video.mp4", "video.mkv", "plan.json", "latents.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (made / name).read_bytes(), name


def test_both_files_say_the_same_and_hold_no_more_of_the_picture_than_they_show(made: Path) -> None:
    origin = read_origin(made / "video.mp4")
    assert origin == read_origin(made / "video.mkv")
    image = origin.image()
    assert image is not None
    assert (255, 0, 255) not in {colour for _, colour in image.getcolors(1 << 20) or ()}
    assert set(origin.hashes) == {"picture", "frames", "plan", "keyframes"}
    assert plan_of(origin) is not None


def test_a_film_saved_from_a_result_says_it_too(made: Path, result: Result, tmp_path: Path) -> None:
    assert read_origin(result.save(tmp_path / "mine.mkv")) == read_origin(made / "video.mp4")


def other(origin: Origin, **settings: Any) -> Origin:
    return replace(origin, settings={**origin.settings, **settings})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: other(o, **{"runtime.allow_hosts": ["evil.example"]}), "does not decide what is made"),
        (lambda o: other(o, **{"reasoner.base_url": "http://evil.example"}), "does not decide what is made"),
        (lambda o: other(o, **{"video.source": "/etc/weights"}), "--set video.source=FOLDER"),
        (
            lambda o: other(o, **{"video.source": "local:wan"}),
            r"files of another machine \(video.source: wan\)",
        ),
        (lambda o: other(o, **{"video.num_frames": -1}), "video.num_frames"),
        (lambda o: other(o, **{"video.source": "someone/model"}), "a file does not choose these"),
        (lambda o: other(o, **{"video.revision": "0" * 40}), "a file does not choose these"),
        (lambda o: other(o, **{"video.files": {"vae": "a.safetensors"}}), "a file does not choose these"),
        (lambda o: other(o, **{"video.files.vae": "a.safetensors"}), "does not decide what is made"),
        (lambda o: other(o, **{"video.quantisation": "weights.gguf"}), "a file does not choose these"),
        (lambda o: other(o, **{"video.attention": "hub/kernel"}), "a file does not choose these"),
        (lambda o: other(o, **{"editor.name": "gemini"}), "a file does not choose these"),
        (lambda o: other(o, video={"model": "wan", "source": "someone/model"}), "does not decide"),
        (lambda o: replace(o, plan=None), "The plan in the video is missing"),
        (lambda o: replace(o, hashes={**o.hashes, "plan": "0" * 64}), "not the one it was made from"),
        (
            lambda o: replace(o, hashes={**o.hashes, "picture": "0" * 64}),
            "not the one that the video was made",
        ),
        (lambda o: replace(o, picture=None), "give it with --image"),
        (lambda o: replace(o, picture=b"x"), "is not a readable image"),
        (lambda o: replace(o, keyframes_given=True), "give them with --keyframes"),
        (lambda o: replace(o, method="none"), "There is no method"),
        (lambda o: replace(o, seed=-1), "The seed is -1"),
    ],
)
def test_what_a_video_tells_is_checked_before_anything_is_made(
    made: Path, tmp_path: Path, change: Callable[[Origin], Origin], message: str
) -> None:
    origin = change(read_origin(made / "video.mp4"))
    with pytest.raises(PhysPlanError, match=message):
        run_again(origin, output_dir=tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_video_of_somebody_else_is_answered_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    write_video(tmp_path / "a.mp4", torch.zeros(3, 3, 16, 16), fps=8)
    assert main(["show", str(tmp_path / "a.mp4")]) == 2
    assert "does not say how it was made" in capsys.readouterr().err
    (tmp_path / "plan.json").write_text("{}")
    assert main(["show", str(tmp_path / "plan.json"), "--again", str(tmp_path / "b")]) == 2
    assert "is no video" in capsys.readouterr().err


def test_no_key_no_address_and_no_path_of_the_machine_is_in_the_file(
    tmp_path: Path, models: Path, gemini: GeminiServer, ice: Path
) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.paper(models, gemini.url))
    pp.generate(ice, tiny_pipelines.PROMPT, method="storyboard", output_dir=tmp_path / "run")
    for name in ("video.mp4", "video.mkv"):
        content = (tmp_path / "run" / name).read_bytes()
        for secret in (GeminiServer.key, gemini.url, str(tmp_path), str(models), str(Path.home())):
            assert secret.encode() not in content
    origin = read_origin(tmp_path / "run" / "video.mp4")
    assert origin.settings["video.source"] == "local:cogvideox"
    sources = {
        "video.source": str(models / "cogvideox"),
        **{f"perception.segmenter.options.{n}": str(models / f) for n, f in
           (("detector", "grounding_dino"), ("sam", "sam2"))},
        "perception.depth.options.source": str(models / "depth_anything"),
        "perception.encoder.options.source": str(models / "dinov3"),
    }  # fmt: skip
    with pytest.raises(PhysPlanError, match="files of another machine"):
        config_of(origin, {})
    with pytest.raises(PhysPlanError, match="a file does not choose these") as refused:
        config_of(origin, sources)
    words = shlex.split(str(refused.value))
    typed = read_assignments([after for word, after in pairwise(words) if word == "--set"])
    assert config_of(origin, {**sources, **typed}).video.source == sources["video.source"]


def test_a_run_is_signed_beside_its_video_which_stays_as_it_is(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("c2pa", reason='content credentials need pip install "physplan[provenance]"')
    from physplan_signing.certificates import load_credential, make_test_certificate
    from physplan_signing.runs import sign_run

    certificate, key, authority = make_test_certificate(tmp_path)
    before = (made / "video.mp4").read_bytes()
    signed = sign_run(made, load_credential(certificate, key))
    assert (made / "video.mp4").read_bytes() == before
    capsys.readouterr()
    assert main(["verify-origin", str(signed), "--trust", str(authority)]) == 0
    told = capsys.readouterr().out
    assert read_origin(made / "video.mp4").hashes["plan"] in told
    assert "models: sandbox" in told
