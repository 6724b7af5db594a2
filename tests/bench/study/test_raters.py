"""Two raters in the study's application: alone, then compared, then together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from study_people import get, post, serving, write_video

from physplan.errors import PhysPlanError
from physplan_bench.failures import STAGES
from physplan_bench.failures.guess import Guess
from physplan_bench.failures.page import FailedVideo
from physplan_bench.study.rating import RatingSession, RatingStore, is_rating, load_rating, make_rating
from physplan_bench.study.session import Refused

FIRST, SECOND = ("Keyframe", "Guidance", "Edits"), ("Keyframe", "Localization", "Edits")
HOSTILE = "<script>document.title='owned'</script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("RGB", (8, 8), "red").save(tmp_path / "k.png")
    failed = [
        FailedVideo(
            name=f"000{i}",
            category="Optics",
            score=float(i),
            description=HOSTILE,
            video=write_video(tmp_path / f"{i}.mp4"),
            events=("Frame 3: the ice melts",),
            keyframes=(tmp_path / "k.png",),
            guess=Guess(stage="Edits", reason="a guess"),
        )
        for i in (1, 2, 3)
    ]
    make_rating(failed, tmp_path / "rating", title="Failed videos")
    return tmp_path / "rating"


@pytest.fixture
def session(folder: Path) -> RatingSession:
    rating = load_rating(folder)
    return RatingSession(rating, RatingStore(folder / "votes.sqlite", rating.id))


def rate(session: RatingSession, rater: str, stages: tuple[str, ...]) -> dict[str, Any]:
    for number, stage in enumerate(stages, 1):
        given = {"rater": rater, "video": f"000{number}", "stage": stage, "note": "seen"}
        state = session.answer("rate", given)
    return state


def test_neither_sees_the_others_ratings_before_both_are_done(session: RatingSession) -> None:
    rate(session, "1", FIRST)
    seen = json.dumps(session.answer("state", {"rater": "2"}))
    assert "Keyframe" not in seen
    assert json.loads(seen)["progress"] == {"1": 3, "2": 0}
    state = rate(session, "2", SECOND)
    assert state["compared"]["share"] == pytest.approx(2 / 3)
    assert state["compared"]["differ"] == {"0002": ["Guidance", "Localization"]}
    with pytest.raises(Refused, match="discuss"):
        rate(session, "2", FIRST)  # who has seen the other's is no longer independent
    with pytest.raises(Refused, match="differently"):
        session.answer("rate", {"rater": "together", "video": "0001", "stage": "Edits"})
    settled = session.answer("rate", {"rater": "together", "video": "0002", "stage": "Guidance"})
    assert settled["compared"]["left"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"rater": "3"},
        {"rater": None},
        {"video": "../x"},
        {"stage": "Other"},
        {"note": "x" * 3000},
        {"note": 1},
    ],
)
def test_what_is_no_rating_is_refused(session: RatingSession, change: dict) -> None:
    with pytest.raises(Refused):
        session.answer("rate", {"rater": "1", "video": "0001", "stage": "Edits", "note": ""} | change)


def test_a_rater_may_change_their_mind_and_a_restart_forgets_nothing(folder: Path) -> None:
    rating = load_rating(folder)
    for stage in ("Edits", "Guidance"):
        store = RatingStore(folder / "votes.sqlite", rating.id)
        RatingSession(rating, store).answer("rate", {"rater": "1", "video": "0001", "stage": stage})
        store.close()
    assert RatingStore(folder / "votes.sqlite", rating.id).of("1") == {
        "0001": {"stage": "Guidance", "note": ""}
    }


def test_the_guess_is_hidden_and_the_folder_is_checked(folder: Path) -> None:
    assert is_rating(folder)
    assert "a guess" not in (folder / "rating.json").read_text()
    content = json.loads((folder / "rating.json").read_text())
    content["videos"][0]["video"] = "../k.png"
    (folder / "rating.json").write_text(json.dumps(content))
    with pytest.raises(PhysPlanError, match="not inside it"):
        load_rating(folder)


def test_the_analysis_waits_for_both_and_shows_how_far_they_agree(
    folder: Path, session: RatingSession, study_command, tmp_path: Path
) -> None:
    rate(session, "1", FIRST)
    code, _, err = study_command("analyse", folder)
    assert code == 2
    assert "rater 1 has rated 3 and rater 2 0" in err
    rate(session, "2", SECOND)
    code, out, err = study_command("analyse", folder, "--reported")
    assert code == 0, err
    assert "agreement 67%" in out
    assert "Still to be discussed: 0002" in out
    assert "reported" in out


def test_the_server_serves_the_raters_page_and_nothing_else(folder: Path) -> None:
    with serving(folder) as server:
        status, page, headers = get(server.port, "/")
        assert status == 200
        assert b"raters.js" in page
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert get(server.port, "/page.js")[0] == 404
        assert get(server.port, "/rating.json")[0] == 404
        status, about = post(server.port, "/api/about", b"{}")
        assert [one["name"] for one in json.loads(about)["videos"]] == ["0001", "0002", "0003"]
        assert get(server.port, "/videos/1.mp4")[0] == 200


def test_two_raters_work_through_the_page_in_a_browser(chromium: Any, folder: Path) -> None:
    with serving(folder) as server:
        page = chromium.new_page(viewport={"width": 390, "height": 844})
        page.set_default_timeout(30_000)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.goto(f"http://127.0.0.1:{server.port}/")
        for rater, stages in (("Rater 1", FIRST), ("Rater 2", SECOND)):
            page.get_by_role("button", name=rater).click()
            for number, stage in enumerate(stages, 1):
                page.locator("#place", has_text=f"{rater}: {number} of 3").wait_for()
                assert page.get_by_text(HOSTILE).count() == 1  # as words
                page.keyboard.press(str(STAGES.index(stage) + 1))
                page.locator("#main button.main:enabled").wait_for()
                assert page.locator(f'input[value="{stage}"]').is_checked()
                assert page.evaluate("document.documentElement.scrollWidth") <= 390
                page.get_by_role("button", name="Finish" if number == 3 else "Next").click()
        page.get_by_text("They agree on 67 % of the videos").wait_for()
        page.get_by_role("button", name="Discussion").click()
        page.get_by_text("Rater 1 said Guidance, Rater 2 said Localization.").wait_for()
        page.keyboard.press(str(STAGES.index("Guidance") + 1))
        page.get_by_role("button", name="Finish").click()
        page.get_by_text("0 are still to be discussed").wait_for()
        assert page.title() == "Failed videos"
        assert faults == []
        page.close()
