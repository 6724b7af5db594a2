"""Masks that a person painted, and the plan that begins with them: no network is needed for either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_studio import masks
from physplan_studio.checking import check_plan
from physplan_studio.photo import PhotoDesk, read_objects
from physplan_studio.pictures import PictureStore
from physplan_studio.web.server import Refused


class Worker:
    """Does at once what a worker process would."""

    def call(self, what: str, given: Any) -> dict[str, Any]:
        assert what == "by_hand"
        return masks.by_hand(given)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PhotoDesk:
    monkeypatch.setattr("physplan_studio.photo.missing", lambda: "")
    masks._frames.clear()
    return PhotoDesk(tmp_path, PictureStore(tmp_path / "pictures"), Worker())


def picture(desk: PhotoDesk) -> str:
    pixels = np.random.default_rng(0).integers(0, 255, (464, 704, 3), np.uint8)
    return desk._pictures.put(Image.fromarray(pixels))


def mask(desk: PhotoDesk, left: int, top: int, right: int, bottom: int) -> str:
    painted = np.zeros((464, 704), np.uint8)
    painted[top:bottom, left:right] = 255
    return desk._pictures.put(Image.fromarray(painted))


def test_painted_masks_become_files_that_the_segmenter_reads(desk: PhotoDesk) -> None:
    from physplan.pictures import to_tensor
    from physplan_photo.segmenter import PhotoSegmenter

    shown, cup, spoon = picture(desk), mask(desk, 100, 100, 300, 300), mask(desk, 400, 200, 450, 300)
    objects = read_objects([f"the cup={cup}", f"spoon={spoon}", "ball@20,30"])
    settings = desk.settings(shown, objects)
    assert (settings["video.width"], settings["video.height"]) == (704, 464)
    options = settings["perception.segmenter.options"]
    assert options["objects"] == ["ball@20,30"]
    assert desk.settings(shown, objects) == settings  # the same masks, the same folder
    other = desk.settings(shown, read_objects([f"the cup={spoon}"]))["perception.segmenter.options"]
    assert other["masks"] != options["masks"]
    segmenter = PhotoSegmenter([], options["masks"])
    assert set(segmenter.given) == {"the cup", "spoon"}
    (found,) = segmenter.segment(to_tensor(Image.open(desk._pictures.path(shown))), ["the cup"])
    assert int(found.mask.sum()) == 200 * 200


def test_a_plan_by_hand_begins_with_the_objects_and_one_event(desk: PhotoDesk) -> None:
    asked = {
        "picture": picture(desk),
        "objects": [f"cup={mask(desk, 100, 100, 300, 300)}", f"table={mask(desk, 0, 300, 704, 464)}"],
    }
    plan = desk.by_hand(asked)["plan"]
    assert check_plan(plan)["ok"]
    assert plan["prompt"] == "the cup moves"
    assert {node["category"] for node in plan["graph"]["nodes"]} == {"cup", "table"}
    assert any(edge["r"] == "support" for edge in plan["graph"]["edges"])
    (event,) = plan["events"]
    (motion,) = event["motion"]
    assert motion["o"].startswith("cup#")
    assert motion["dx"] > 0
    assert desk.by_hand({**asked, "prompt": " the cup walks "})["plan"]["prompt"] == "the cup walks"


def test_what_is_no_painted_object_is_refused(desk: PhotoDesk) -> None:
    for typed in (f"a_cup={'0' * 64}", f"../cup={'0' * 64}", "cup=xyz", f"={'0' * 64}"):
        with pytest.raises((Refused, PhysPlanError)):
            read_objects([typed])
    with pytest.raises(PhysPlanError, match="are called"):
        read_objects([f"cup={'0' * 64}", "cup@1,1"])
    with pytest.raises(PhysPlanError, match="not here any more"):
        desk.settings(picture(desk), (f"cup={'0' * 64}",))
    with pytest.raises(Refused, match="Click on what"):
        desk.by_hand({"picture": picture(desk), "objects": []})
