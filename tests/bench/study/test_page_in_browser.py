"""The page in a real browser: twelve people, a killed server, a closed page, hostile words, the keyboard."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from study_people import METHODS, Served, Tally, serving

from physplan_bench.study.analysis import analyse
from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import Study, load_study
from physplan_bench.study.make import Plan, make_study
from physplan_bench.study.server import StudyServer, link
from physplan_bench.study.votes import read_votes

WAIT = 30_000  # milliseconds, on a busy machine
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context()
    yield new_page(context)
    context.close()


def new_page(context: Any) -> Any:
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: message.type == "error" and page.faults.append(message.text))
    return page


@pytest.fixture
def folder(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "study"))


def address(server: StudyServer) -> str:
    return link(server, "127.0.0.1")


class Visitor:
    """Somebody at the page, who reads it as a person does."""

    def __init__(self, page: Any, address: str, tally: Tally) -> None:
        self.page, self.tally = page, tally
        page.goto(address)

    def agree(self) -> None:
        assert self.page.get_by_role("button", name="Start").is_disabled()
        self.page.get_by_role("checkbox").check()
        self.page.get_by_role("button", name="Start").click()
        self.page.locator("#place", has_text="Example").wait_for()
        self.choose(dict.fromkeys(KEYS, "b"))
        self.at(1)

    def choose(self, choices: dict[str, str]) -> None:
        button = self.page.get_by_role("button", name="Next")
        for key, side in choices.items():
            assert button.is_disabled()
            self.page.locator(f'input[name="{key}"][value="{side}"]').check()
        button.click()

    def at(self, number: int) -> None:
        self.page.locator("#place", has_text=re.compile(f"^Pair {number} of ")).wait_for()

    def shown(self) -> dict[str, str]:
        sources = [video.get_attribute("src") for video in self.page.locator("video").all()]
        return dict(zip("ab", sources, strict=True))

    def vote(self) -> None:
        """Choose and go on; whether the server lives does not matter to a person."""
        trial = self.shown()
        choices = self.tally.choose(trial)
        self.tally.count(trial, choices)
        self.choose(choices)

    def thanked(self) -> str:
        self.page.locator("#place", has_text="Done").wait_for()
        return str(self.page.locator(".code").text_content())


def check_result(study: Study, folder: Path, tally: Tally, files: list[Path] | None = None) -> dict[str, Any]:
    result = analyse(study, read_votes(study, folder, files or []), finished_only=True, passed_only=True)
    for key in KEYS:
        assert round(result["position"][key]["value"] * result["votes"][key]) == tally.left[key]
        for method in METHODS[1:]:
            found = result["preference"][key][method]
            assert (found["wins"], found["votes"]) == (tally.wins[key, method], tally.votes[key, method])
    counts = result["votes_per_pair"]["counts"]
    assert max(counts) - min(counts) <= 1
    return result


def take_part(chromium: Any, folder: Path, people: int, *, kill_after: int) -> dict[str, Any]:
    """All at once, in turns; the server is killed in the middle of a round and comes back later."""
    study = load_study(folder)
    tally, rounds = Tally(study), len(study.hands[0])
    with Served(folder) as server:
        # Two dozen videos that play at once would measure the machine and not the page.
        contexts = [chromium.new_context(reduced_motion="reduce") for _ in range(people)]
        visitors = [Visitor(new_page(context), server.link, tally) for context in contexts]
        for visitor in visitors:
            visitor.agree()
        for number in range(1, rounds + 1):
            for place, visitor in enumerate(visitors):
                if number == kill_after and place == people // 2:
                    server.kill()
                visitor.at(number)
                visitor.vote()
            if number == kill_after:  # half of them wait, and see that they do
                visitors[-1].page.get_by_text("does not answer").wait_for()
                server.start()
        codes = {visitor.thanked() for visitor in visitors}
        for visitor in visitors:
            refused = "ERR_CONNECTION|ERR_EMPTY|Failed to load resource"
            assert [fault for fault in visitor.page.faults if not re.search(refused, fault)] == []
        for context in contexts:
            context.close()
        assert server.stop() == ""
    result = check_result(study, folder, tally)
    assert result["participants"]["finished"] == people
    assert result["votes"] == dict.fromkeys(KEYS, people * study.per_participant)
    assert set(result["codes"]) == codes
    return result


def test_two_people_vote_and_no_vote_is_lost_when_the_server_is_killed(chromium: Any, folder: Path) -> None:
    take_part(chromium, folder, 2, kill_after=2)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twelve_people_vote_and_every_pair_gets_its_share(chromium: Any, made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "study"))
    result = take_part(chromium, folder, 12, kill_after=4)
    assert result["votes_per_pair"]["counts"] == [4] * 24


def test_a_closed_page_goes_on_from_its_link_and_from_the_browsers_memory(page: Any, folder: Path) -> None:
    with serving(folder) as server:
        visitor = Visitor(page, address(server), Tally(load_study(folder)))
        visitor.agree()
        visitor.vote()
        visitor.at(2)
        shown, link = visitor.shown(), page.url
        page.goto("about:blank")
        page.goto(address(server))
        visitor.at(2)
        assert visitor.shown() == shown
        other = page.context.browser.new_context()  # another browser, the same link
        elsewhere = Visitor(new_page(other), link, visitor.tally)
        elsewhere.at(2)
        elsewhere.vote()
        elsewhere.at(3)
        visitor.vote()  # the first tab is behind: its answer is not counted twice
        visitor.at(3)
        other.close()
        assert page.faults == []
    (rater,) = read_votes(load_study(folder), folder)
    assert len(rater.answers) == 2


def test_the_keyboard_is_enough_and_both_videos_play_in_step(page: Any, folder: Path) -> None:
    with serving(folder) as server:
        page.goto(address(server))
        page.get_by_role("checkbox").focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Start").focus()
        page.keyboard.press("Enter")
        page.locator("#place", has_text="Example").wait_for()
        for key in ("b", "b", "a", "Enter"):
            page.keyboard.press(key)
        page.locator("#place", has_text="Pair 1 of 4").wait_for()
        pause = page.get_by_role("button", name="Pause")
        pause.wait_for()  # they began by themselves
        apart = [
            page.evaluate(
                "Math.abs(document.querySelectorAll('video')[0].currentTime"
                " - document.querySelectorAll('video')[1].currentTime)"
            )
            for _ in range(10)
        ]
        assert max(apart) < 0.2
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play").wait_for()
        for key in ("a", "b", "a"):
            page.keyboard.press(key)
        chosen = page.eval_on_selector_all("input[type=radio]:checked", "all => all.map(one => one.value)")
        assert chosen == ["a", "b", "a"]
        page.keyboard.press("Enter")
        page.locator("#place", has_text="Pair 2 of 4").wait_for()
        unnamed = page.eval_on_selector_all(
            "img, video, input, button",
            "all => all.filter(o => !(o.alt || o.ariaLabel || o.textContent || o.labels?.length)).length",
        )
        assert unnamed == 0
        assert page.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_telephone(chromium: Any, folder: Path, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    with serving(folder) as server:
        visitor = Visitor(new_page(context), address(server), Tally(load_study(folder)))
        wide = "document.documentElement.scrollWidth"
        assert visitor.page.evaluate(wide) <= 390
        visitor.agree()
        assert visitor.page.evaluate(wide) <= 390
        paper = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper))) < 200) == (scheme == "dark")
        context.close()


def test_hostile_words_are_shown_as_words(page: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    names = [path.stem for path in sorted(next(iter(folders.values())).iterdir())][:2]
    table = tmp_path / "prompts.csv"
    table.write_text(
        "name,prompt\n" + "".join(f'{n},"{HOSTILE.replace(chr(34), chr(34) * 2)} {n}"\n' for n in names)
    )
    plan = Plan(pairs=4, title=HOSTILE, contact=HOSTILE, consent=(HOSTILE,), participants=2)
    make_study(folders, tmp_path / "study", plan=plan, table=table)
    with serving(tmp_path / "study") as server:
        page.goto(address(server))
        page.get_by_role("checkbox").wait_for()
        assert page.title() == HOSTILE
        assert page.locator("main img, main script").count() == 0
        Visitor(page, address(server), Tally(load_study(tmp_path / "study"))).agree()
        assert HOSTILE in page.locator("h1").text_content()
        assert page.title() == HOSTILE
        assert page.faults == []


def test_the_static_page_keeps_votes_in_the_browser_and_saves_them_as_a_file(
    page: Any, folder: Path, tmp_path: Path, study_command: Any
) -> None:
    study, site = load_study(folder), tmp_path / "site"
    assert study_command("export", folder, "-o", site)[0] == 0
    opened = (site / "index.html").as_uri() + "#place=3"
    tally = Tally(study)
    visitor = Visitor(page, opened, tally)
    visitor.agree()
    for number in range(1, 5):
        visitor.at(number)
        visitor.vote()
        if number == 2:
            page.goto("about:blank")
            page.goto(opened)
    code = visitor.thanked()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my choices").click()
    path = tmp_path / "votes.json"
    download.value.save_as(path)
    assert json.loads(path.read_text())["place"] == 2
    result = check_result(study, folder, tally, [path])
    assert result["codes"] == [code]
    assert page.faults == []
