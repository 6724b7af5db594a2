"""A photograph in the studio with the real weights: click, see the mask, watch it, correct what failed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studio_double import Client, Opened, serving

from physplan_studio import photo

# Beside the repository, beside the folder of its work trees, or beside the weights.
PLACES = [folder / "shared" for folder in Path(__file__).resolve().parents[2:5]]
PLACES += [Path(os.environ["PHYSPLAN_WEIGHTS"]).parent] if os.environ.get("PHYSPLAN_WEIGHTS") else []
SHARED = next((place for place in PLACES if (place / "photographs").is_dir()), PLACES[0])
PHOTOGRAPHS = SHARED / "photographs"
WEIGHTS = SHARED / "weights"
# A click on what should move, in shares of the frame, and a sentence that names it.
CLICKS = {
    "rocket.jpg": ((0.5, 0.45), "the rocket rises"),
    "coffee.png": ((0.45, 0.35), "the cup slides to the left"),
    "chelsea.png": ((0.5, 0.5), "the cat leans to the left"),
    "astronaut.png": ((0.45, 0.6), "the astronaut leans to the left"),
}
WAIT = 400_000  # milliseconds: a busy machine


@pytest.fixture(autouse=True)
def weights(monkeypatch: pytest.MonkeyPatch) -> None:
    if WEIGHTS.is_dir():
        monkeypatch.setenv("PHYSPLAN_WEIGHTS", str(WEIGHTS))
    if photo.missing():
        pytest.skip(f"the weights of the preset photo are not here: {photo.missing()}")
    if not PHOTOGRAPHS.is_dir():
        pytest.skip("the photographs are not here (../shared/photographs)")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    cache = tmp_path / "cache" / "physplan" / "photographs"
    cache.mkdir(parents=True)
    for name in ("coffee.png", "rocket.jpg", "chelsea.png"):
        shutil.copy(PHOTOGRAPHS / name, cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Opened(tmp_path / "runs")
    yield found
    found.kill()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(WAIT)
    yield page
    context.close()


@pytest.mark.slow  # half a minute of two free cores each
@pytest.mark.timeout(1200)
def test_each_photograph_gives_the_mask_of_a_click(opened: Opened) -> None:
    client = Client(opened.port)
    for name, ((x, y), sentence) in CLICKS.items():
        status, found = client.upload((PHOTOGRAPHS / name).read_bytes())
        assert status == 200, found
        frame = client.ask("photo", picture=found["picture"])
        assert max(frame["width"], frame["height"]) == 704
        (thing,) = client.ask("sentence", prompt=sentence)["names"]
        at = f"{x * frame['width']:.0f},{y * frame['height']:.0f}"
        asked = {"picture": found["picture"], "object": f"{thing}@{at}"}
        if name == "rocket.jpg":
            words = client.refused("click", picture=found["picture"], object="sky@500,100")
            assert "looks like background" in words
            assert "--object" not in words
        seen = client.ask("click", **asked)
        left, top, right, bottom = seen["box"]
        assert left <= x <= right
        assert top <= y <= bottom
        status, mask, _ = client.get(f"pictures/{seen['mask']}.png")
        assert (status, mask[:4]) == (200, b"\x89PNG")
        assert 0.3 < seen["score"] <= 1.1


@pytest.mark.slow  # half a minute of two free cores each
@pytest.mark.timeout(1200)
def test_a_photograph_is_clicked_watched_and_dragged_further(page: Any, opened: Opened) -> None:
    page.goto(opened.link)
    page.locator(".shots .sample").nth(2).wait_for()
    assert not page.locator(".examples .sample").first.is_visible()
    page.locator("#file").set_input_files(PHOTOGRAPHS / "rocket.jpg")
    page.locator("#words").fill("the rocket moves to the right")
    page.get_by_text("Click on what should move.", exact=True).wait_for()
    stage = page.locator(".photo-stage")
    box = stage.bounding_box()
    stage.click(position={"x": box["width"] * 0.5, "y": box["height"] * 0.45})
    page.locator(".mask").wait_for()
    assert page.get_by_label("Name of object 1").input_value() == "rocket"
    page.keyboard.press("Control+z")  # the picture has the keyboard
    page.locator(".mask").wait_for(state="detached")
    page.keyboard.press("Enter")  # the cross is in the middle
    page.locator(".mask").wait_for()
    page.get_by_role("button", name="Watch it").click()
    page.locator(".films video").wait_for()
    first, dot = page.url, page.locator(".goal").first
    dot.get_by_text(re.compile(r"\d s$")).wait_for()  # when it is there
    before = dot.bounding_box()
    assert before["y"] + before["height"] < 900  # beside the video, not below the fold
    page.mouse.move(before["x"] + 15, before["y"] + 15)
    page.mouse.down()
    page.mouse.move(before["x"] - 60, before["y"] + 15, steps=4)
    page.mouse.up()
    page.wait_for_function("first => location.href !== first", arg=first)
    page.locator("h1 + p", has_text="right-2").wait_for()
    page.locator(".films video").wait_for()
    assert page.locator(".goal").first.bounding_box()["x"] < before["x"]


@pytest.mark.slow  # half a minute of two free cores each
@pytest.mark.timeout(1200)
def test_masks_are_painted_and_a_plan_is_made_by_hand(page: Any, opened: Opened) -> None:
    page.goto(opened.link)
    page.locator(".shots .sample").filter(has_text="coffee").click()
    page.get_by_text("Click on what should move.", exact=True).wait_for()
    page.locator("#words").fill("")
    for number, (name, at) in enumerate({"cup": (0.2, 0.15), "spoon": (0.6, 0.6)}.items()):
        page.get_by_role("button", name="New object").click()  # painted: nothing is asked of a network
        page.get_by_role("button", name="Paint").click()
        paint(page, at, (at[0] + 0.1, at[1] + 0.1), new=number > 0)
        page.locator(".objects li").nth(number).wait_for()
        page.get_by_label(f"Name of object {number + 1}").fill(name)
        page.keyboard.press("Enter")
    covered = [share(page)]
    for button in ("Grow", "Shrink"):
        page.get_by_role("button", name=button).click()
        page.wait_for_function(
            "n => document.querySelectorAll('.mask')[1].style.cssText !== n", arg=mask(page)
        )
        covered.append(share(page))
    assert covered[1] > 1.05 * covered[0]
    assert covered[2] < covered[1]
    page.get_by_role("button", name="Erase").click()
    paint(page, (0.6, 0.6), (0.63, 0.63))
    page.get_by_role("button", name="Plan by hand").click()
    page.locator(".films video").wait_for()
    assert page.locator("h1").text_content() == "the cup moves"
    first = page.url
    nearest = page.locator(".depth li b")
    before = nearest.all_text_contents()
    page.get_by_role("button", name=f"{before[1]} nearer").click()
    assert nearest.all_text_contents() == before[::-1]
    page.locator(".state.good", has_text="You changed this plan").wait_for()
    page.wait_for_function("first => location.href !== first", arg=first)
    page.locator("h1 + p", has_text="moves-2").wait_for()
    page.locator(".depth li").first.wait_for()
    assert page.locator(".depth li b").all_text_contents() == before[::-1]


def paint(page: Any, start: tuple[float, float], end: tuple[float, float], *, new: bool = False) -> None:
    box = page.locator(".photo-stage").bounding_box()
    spots = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    shown = mask(page)
    page.mouse.move(*spots[0])
    page.mouse.down()
    page.mouse.move(*spots[1], steps=4)
    page.mouse.up()
    page.wait_for_function(
        "n => ([...document.querySelectorAll('.mask')].at(-1)?.style.cssText ?? '') !== n", arg=shown
    )


def mask(page: Any) -> str:
    return page.evaluate("[...document.querySelectorAll('.mask')].at(-1)?.style.cssText ?? ''")


SHARE = """async () => {
  const style = [...document.querySelectorAll('.mask')].at(-1).style, image = new Image();
  image.src = style.getPropertyValue('--mask').match(/"(.*)"/)[1];
  await image.decode();
  const { width, height } = image, canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height).data.filter((v, i) => i % 4 === 0 && v > 127).length;
}"""


def share(page: Any) -> int:
    """Pixels of the last object's mask."""
    return int(page.evaluate(SHARE))


def test_a_failed_plan_keeps_picture_and_sentence_to_correct(page: Any, opened: Opened) -> None:
    page.goto(opened.link)
    page.locator(".shots .sample").filter(has_text="coffee").click()
    page.get_by_text("Click on what should move.", exact=True).wait_for()
    page.locator("#words").fill("the teapot slides to the left")
    page.get_by_role("button", name="Watch it").click()
    page.get_by_text("There is no plan yet").wait_for()
    assert "--object" not in page.locator(".banner").inner_text()
    assert page.locator("#words").input_value() == "the teapot slides to the left"
    page.locator(".photo-stage").wait_for()
    page.locator("#words").fill("the cup slides to the left")
    run = page.url
    page.get_by_role("button", name="Watch it").click()
    page.locator(".event").first.wait_for()
    assert page.url == run


def test_what_a_request_names_is_checked(tmp_path: Path) -> None:
    with serving(tmp_path / "runs") as studio:
        client = Client(studio.server.port)
        picture = client.upload((PHOTOGRAPHS / "coffee.png").read_bytes())[1]["picture"]
        for typed in ("../etc@1,2", "cup@1", "cup:5,5,1,1", "@3,3", 7, ["cup"], "c" * 3_000):
            assert client.refused("click", picture=picture, object=typed)
        assert "choose it again" in client.refused("click", picture="0" * 64, object="cup@1,1")
        many = [f"cup {n}@1,1" for n in range(13)]
        assert "12" in client.refused("start", picture=picture, prompt="the cup rises", objects=many)
        assert re.search("rise", client.ask("sentence", prompt="the cup philosophises")["problem"])
