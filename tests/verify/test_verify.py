"""The check of a finished video: what is there holds, what is not fails, and who was touched is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from scipy import ndimage
from torch import Tensor

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.graph import Consume, Edge, EventChain, GraphEdit, Link, Spawn, Unlink, Update, motion
from physplan.perception import Evidence, Instance
from physplan.pictures import to_picture, to_tensor
from physplan.reasoning.picture import Picture
from physplan.sketch import make_sketch
from physplan.verify import Perception, Verdict, verify_video
from physplan.verify.framing import judged_together
from physplan.verify.limits import Limits, answer, event_found
from physplan.verify.relations import shown
from physplan.verify.verdict import EditFound, EventFound
from physplan.verify.words import edit_in_words
from sketch.sketch_scenes import COLOURS, FRAMES, SIZE, background, chain_of, evidence, mask_of, seen

NEAR = {"ball#1": 0.6, "post#2": 0.3, "vase#3": 0.9, "pool#4": 0.5}
BEFORE = {"ball#1": (10, 6, 20, 16), "post#2": (8, 44, 30, 60), "vase#3": (44, 36, 54, 58)}
AFTER = {**BEFORE, "ball#1": (10, 34, 20, 44)}
EDITS = (Unlink("ball#1", "above", "post#2"), Link("post#2", "support", "ball#1"))


class Eyes:
    """Finds things by their colours."""

    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        found = []
        for category in categories:
            near = (image - torch.tensor(COLOURS[category])[:, None, None]).abs().amax(0) < 0.2
            labels, count = ndimage.label(near.numpy())
            found += [
                Instance(category=category, mask=torch.from_numpy(labels == k), score=1.0)
                for k in range(1, count + 1)
                if (labels == k).sum() > 12
            ]
        return tuple(found)


PERCEPTION = Perception(
    segmenter=Eyes(),
    depth=lambda images: images.mean(1),
    encoder=lambda images: torch.nn.functional.avg_pool2d(images, 8),
)


def scene() -> tuple[EventChain, Evidence]:
    chain = chain_of(
        ["ball#1", "post#2", "vase#3"],
        (["ball#1"], EDITS, [motion("ball#1", "accelerating")]),
        edges=(Edge("ball#1", "above", "post#2"),),
    )
    return chain, evidence(seen(BEFORE, NEAR), seen(AFTER, NEAR))


def judged(frames: Tensor, *, keyframes: bool = True) -> Verdict:
    chain, found = scene()
    return verify_video(
        chain,
        frames,
        perception=PERCEPTION,
        first_frame=found.first.image,
        evidence=found if keyframes else None,
    )


def good() -> Tensor:
    return make_sketch(*scene()).frames


def frozen() -> Tensor:
    return scene()[1].first.image.expand(FRAMES, -1, -1, -1).clone()


@pytest.mark.parametrize("keyframes", [True, False])
def test_a_video_that_shows_the_plan_holds(keyframes: bool) -> None:
    verdict = judged(good(), keyframes=keyframes)
    assert verdict.verdict == "holds"
    assert [edit.verdict for edit in verdict.events[0].edits] == ["holds", "holds"]
    assert all(bystander.kept for bystander in verdict.bystanders)
    assert verdict.sentence() == "The video shows what was planned, and the rest stays as it was."


@pytest.mark.parametrize("keyframes", [True, False])
def test_a_video_in_which_nothing_happens_fails(keyframes: bool) -> None:
    verdict = judged(frozen(), keyframes=keyframes)
    assert verdict.verdict == "fails"
    said = verdict.sentence()
    assert said.startswith("The video does not show what was planned. Not seen: ")
    assert "ball#1 is on post#2 (event 1)" in said


def test_a_ball_that_ends_elsewhere_does_not_hold() -> None:
    frames = frozen()
    elsewhere = seen({**BEFORE, "ball#1": (34, 6, 44, 16)}, NEAR).image
    frames[8:] = elsewhere
    verdict = judged(frames)
    assert verdict.verdict != "holds"
    assert verdict.events[0].stray > 0.3


def test_a_bystander_that_vanishes_is_named_and_spoils_the_verdict() -> None:
    frames = good()
    vase = mask_of(BEFORE["vase#3"])
    frames[-4:, :, vase] = background()[:, vase]
    verdict = judged(frames)
    (changed,) = [b for b in verdict.bystanders if not b.kept]
    assert changed.object == "vase#3"
    assert changed.frame >= FRAMES - 4
    assert verdict.verdict != "holds"
    assert "hanged though it should not: vase#3" in verdict.sentence()


def test_a_state_that_does_not_last_does_not_hold() -> None:
    frames = good()
    frames[-3:] = frozen()[-3:]
    assert judged(frames).verdict != "holds"


def test_a_video_of_another_length_and_size_is_judged_too() -> None:
    frames = good().repeat_interleave(2, dim=0)
    larger = torch.nn.functional.interpolate(frames, (2 * SIZE, 2 * SIZE), mode="bilinear")
    assert judged(larger).verdict == "holds"


def test_the_verdict_as_json_has_one_entry_per_event() -> None:
    value = json.loads(json.dumps(judged(good()).to_json()))
    assert value["verdict"] in ("holds", "doubtful", "fails")
    assert [event["event"] for event in value["events"]] == [1]
    assert {"edit", "verdict", "value", "frame"} <= value["events"][0]["edits"][0].keys()
    assert {entry["object"] for entry in value["bystanders"]} == {"post#2", "vase#3"}
    assert {"step", "turn", "acceleration", "score"} <= value["motion"].keys()
    assert value["compared_with"] == "keyframes"


def test_what_cannot_be_judged_is_refused_in_a_sentence() -> None:
    with pytest.raises(PhysPlanError, match="at least two frames"):
        judged(good()[:1])
    with pytest.raises(PhysPlanError, match="give the picture, or the evidence"):
        verify_video(scene()[0], good(), perception=PERCEPTION)


def test_an_object_that_is_not_found_makes_its_edit_doubtful_not_right() -> None:
    frames = good()
    ball = mask_of(AFTER["ball#1"])
    frames[-8:, :, ball] = background()[:, ball]
    verdict = judged(frames, keyframes=False)
    assert all(edit.verdict != "holds" for edit in verdict.events[0].edits)
    assert verdict.verdict != "holds"


FIRST = seen(BEFORE, NEAR)


@pytest.mark.parametrize(
    ("edit", "places", "low", "high"),
    [
        (Link("post#2", "support", "ball#1"), AFTER, 0.9, 1.0),
        (Link("post#2", "support", "ball#1"), BEFORE, 0.0, 0.1),
        (Unlink("ball#1", "above", "vase#3"), BEFORE, 0.9, 1.0),
        (Link("ball#1", "above", "post#2"), BEFORE, 0.9, 1.0),
        (Link("ball#1", "left of", "vase#3"), BEFORE, 0.9, 1.0),
        (Unlink("ball#1", "left of", "vase#3"), BEFORE, 0.0, 0.1),
        (Link("ball#1", "contact", "post#2"), AFTER, 0.9, 1.0),
        (Consume("ball#1"), {k: v for k, v in BEFORE.items() if k != "ball#1"}, 0.9, 1.0),
        (Consume("ball#1"), BEFORE, 0.0, 0.1),
        (Spawn("pool#4", "ball#1", "pool"), {**BEFORE, "pool#4": (30, 46, 42, 54)}, 0.9, 1.0),
        (Spawn("pool#4", "ball#1", "pool"), BEFORE, 0.0, 0.1),
        (Update("ball#1", "extent", "large"), {**BEFORE, "ball#1": (6, 2, 24, 20)}, 0.9, 1.0),
        (Update("ball#1", "extent", "smaller"), {**BEFORE, "ball#1": (6, 2, 24, 20)}, 0.0, 0.1),
        (Link("vase#3", "containment", "ball#1"), {**BEFORE, "ball#1": (46, 38, 52, 50)}, 0.9, 1.0),
    ],
)
def test_relations_and_presence_are_read_from_masks(edit, places, low: float, high: float) -> None:
    near = {**NEAR, "ball#1": 0.95} if isinstance(edit, Link) and edit.r == "containment" else NEAR
    value = shown(edit, FIRST, seen(places, near))
    assert value is not None
    assert low <= value <= high


def test_an_edit_of_what_is_not_seen_has_no_value() -> None:
    gone = seen({k: v for k, v in BEFORE.items() if k != "ball#1"}, NEAR)
    assert shown(Link("post#2", "support", "ball#1"), FIRST, gone) is None


def test_the_command_judges_a_file_and_prints_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the sandbox's own segmenter: the simulator's video against a video in which nothing happens."""
    from physplan.video.files import write_video
    from physplan_sandbox.truth import true_chain
    from physplan_sandbox.world.phenomena import scene as world_scene

    truth = world_scene("validation", 200).render().frames
    true_chain(world_scene("validation", 200)).save(tmp_path / "plan.json")
    Image.fromarray(truth[0]).save(tmp_path / "first.png")
    right = torch.from_numpy(truth).permute(0, 3, 1, 2).float() / 255
    write_video(tmp_path / "right.mkv", right, fps=8)
    write_video(tmp_path / "frozen.mkv", right[:1].expand_as(right), fps=8)
    given = ["--plan", str(tmp_path / "plan.json"), "--image", str(tmp_path / "first.png"), "--json"]
    assert main(["verify", str(tmp_path / "right.mkv"), *given]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "holds"
    assert main(["verify", str(tmp_path / "frozen.mkv"), *given]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["verdict"] != "holds"
    assert len(value["events"]) == 1
    assert main(["verify", str(tmp_path / "none.mkv"), *given]) == 2
    assert "There is no video" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (Spawn("puddle#7", "ice#3", "puddle", {}), "puddle#7 appears"),
        (Consume("ice#3"), "ice#3 is gone"),
        (
            Update("ice#3", "material_phase", "half melted, wet"),
            "ice#3 becomes half melted, wet (material phase)",
        ),
        (Link("crate#3", "containment", "ball#2"), "ball#2 is in crate#3"),
        (Link("book#1", "contact", "ball#2"), "book#1 touches ball#2"),
        (Unlink("ball#2", "left of", "box#4"), "ball#2 is no longer left of box#4"),
        (Unlink("book#1", "contact", "ball#2"), "book#1 no longer touches ball#2"),
    ],
)
def test_an_edit_is_told_in_plain_words(edit: GraphEdit, words: str) -> None:
    assert edit_in_words(str(edit)) == words


def test_what_is_not_written_as_an_edit_stays_as_it_is() -> None:
    assert edit_in_words("Link(a#1, b#2)") == "Link(a#1, b#2)"
    assert edit_in_words("the ball rolls") == "the ball rolls"


def test_what_was_not_seen_at_first_is_not_seen_to_go() -> None:
    without = seen({k: v for k, v in BEFORE.items() if k != "ball#1"}, NEAR)
    assert shown(Consume("ball#1"), without, without) is None
    chain = chain_of(["ball#1", "vase#3"], (["ball#1"], (Consume("ball#1"),), []))
    found = verify_video(
        chain, without.image.expand(FRAMES, -1, -1, -1), perception=PERCEPTION, first_frame=without.image
    )
    assert found.events[0].edits[0].value is None
    assert found.verdict != "holds"


@pytest.mark.parametrize("keyframes", [True, False])
def test_everything_painted_grey_fails(keyframes: bool) -> None:
    """Also where the plan's one edit is that something goes, and nothing else is there to be changed."""
    first, after = seen({"ball#1": BEFORE["ball#1"]}, NEAR), seen({}, NEAR)
    chain = chain_of(["ball#1"], (["ball#1"], (Consume("ball#1"),), []))
    frames = first.image.expand(FRAMES, -1, -1, -1).clone()
    frames[2:] = 0.5
    found = verify_video(
        chain,
        frames,
        perception=PERCEPTION,
        first_frame=first.image,
        evidence=evidence(first, after) if keyframes else None,
    )
    assert found.verdict == "fails"
    assert found.events[0].verdict == "fails"
    assert "another scene" in found.sentence()


def test_an_event_that_holds_has_no_line_that_fails() -> None:
    edits = [
        EditFound(
            edit=f"Update(a#{i}, color, red)",
            objects=(f"a#{i}",),
            value=v,
            frame=3,
            verdict=answer(v, 0.6, 0.4),
        )
        for i, v in enumerate((1.0, 0.3))
    ]
    found = event_found(0, 3, 0.95, 0.0, edits, Limits())
    assert found.verdict == "doubtful"


def test_one_fact_is_stated_once() -> None:
    edit = EditFound(edit="Consume(ice#3)", objects=("ice#3",), value=0.1, frame=3, verdict="fails")
    events = tuple(
        EventFound(event=i, anchor=i, verdict="fails", value=0.1, stray=0.0, edits=(edit,)) for i in (1, 2, 3)
    )
    said = Verdict(
        verdict="fails", score=0.0, compared_with="plan", events=events, bystanders=(), motion={}
    ).sentence()
    assert said.count("ice#3 is gone") == 1
    assert "(events 1 to 3)" in said


@pytest.mark.parametrize("size", [(64, 64), (128, 128), (48, 48), (128, 72)])
def test_the_same_video_in_another_size_or_aspect_gets_the_same_verdict(size: tuple[int, int]) -> None:
    picture = to_picture(scene()[1].first.image)
    chain = scene()[0]
    found = set()
    for frames in (good(), frozen()):
        other = torch.nn.functional.interpolate(frames, size[::-1], mode="bilinear", antialias=True)
        first, same = judged_together(picture, other, area=SIZE * SIZE)
        assert same.shape == frames.shape
        found.add(verify_video(chain, same, perception=PERCEPTION, first_frame=first).verdict)
    assert found == {"holds", "fails"}


def test_a_video_of_the_middle_of_its_picture_is_compared_with_the_middle() -> None:
    picture = Image.effect_noise((96, 64), 80).convert("RGB")
    middle = picture.crop((16, 0, 80, 64))
    first, frames = judged_together(picture, to_tensor(middle).expand(4, -1, -1, -1), area=10**6)
    assert first.shape == (3, 64, 64)
    assert float((first - frames[0]).abs().mean()) < 0.01


def test_a_plan_of_another_picture_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain, found = scene()
    picture = Picture.of(to_picture(found.first.image))
    made = {"image": {"sha256": picture.sha256, "size": [SIZE, SIZE]}}
    replace(chain, provenance=made).save(tmp_path / "plan.json")
    picture.image.resize((3 * SIZE, 3 * SIZE), Image.Resampling.NEAREST).save(tmp_path / "other.png")
    picture.image.rotate(90).save(tmp_path / "other.png")
    given = ["--plan", str(tmp_path / "plan.json"), "--image", str(tmp_path / "other.png")]
    assert main(["verify", str(tmp_path / "none.mkv"), *given]) == 2
    assert "made for another picture" in capsys.readouterr().err
