"""The page about a run: legible at every stage of it, and safe whatever the texts say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from PIL import Image

from physplan.drawing.html import to_html
from physplan.errors import PhysPlanError
from physplan.perception import gather_evidence
from physplan.report import write_report
from physplan.report.losses import loss_chart
from physplan.report.pictures import graph_over_picture, region_over
from physplan.runs import RunFolder
from scenes import MELTING_FIRST, MELTING_KEYFRAMES, ColourSegmenter, melting_chain, row_depth


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.unnamed: list[str] = []  # pictures and videos without a text in their place
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if tag in ("img", "video") and not (given.get("alt") or given.get("aria-label")):
            self.unnamed.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def test_an_unfinished_run_has_a_report_and_texts_stay_texts(folder: RunFolder) -> None:
    text = write_report(folder).read_text()
    page = Page(text)
    assert "This run is not finished" in text
    assert "script" not in page.tags
    assert "&lt;script&gt;" in text
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert text.count("<img") >= 6
    assert "best of 2 drawings" in text


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="is no folder of a run"):
        write_report(RunFolder(tmp_path))


def test_the_graph_names_every_object_also_those_not_found(folder: RunFolder) -> None:
    chain = melting_chain()
    evidence = gather_evidence(
        chain, MELTING_FIRST, MELTING_KEYFRAMES, segmenter=ColourSegmenter(), depth=row_depth
    )
    found = ElementTree.fromstring(graph_over_picture(chain, evidence.first))
    assert {"ice#1", "tray#2", "support"} <= {element.text for element in found.iter()}
    masks = {"tray#2": evidence.first.masks["tray#2"]}
    hidden = type(evidence.first)(image=evidence.first.image, masks=masks, depth=evidence.first.depth)
    taller = ElementTree.fromstring(graph_over_picture(chain, hidden))
    assert "ice#1" in {element.text for element in taller.iter()}
    assert taller.get("viewBox") != found.get("viewBox")


def test_a_line_for_each_term_of_the_event_and_no_other() -> None:
    def term(event: int, name: str, value: float | None) -> dict[str, object]:
        return {"event": event, "term": name, "objects": ["ice#1"], "value": value}

    steps = [
        {
            "stage": "layout",
            "terms": [
                term(0, "position", 0.0),
                term(0, "count", 1.0),
                term(0, "extent", 0.5),
                term(1, "depth", 9.0),
            ],
        },
        {"stage": "detail", "terms": [term(0, "count", 0.25), term(0, "extent", None)]},
    ]
    chart = loss_chart(steps, 0)
    assert chart.count("<polyline") == 2
    assert "1 → 0.25" in chart
    assert "depth" not in chart
    assert "as it should be throughout: position of ice#1" in chart
    assert "No term" in loss_chart(steps, 2)


def test_a_region_is_lit_where_it_is_and_grey_elsewhere() -> None:
    region = torch.zeros(2, 2)
    region[0, 0] = 1
    lit = region_over(Image.new("RGB", (40, 40), (20, 200, 20)), region)
    inside, outside = lit.getpixel((5, 5)), lit.getpixel((35, 35))
    assert len(set(outside)) == 1
    assert inside[1] > inside[2]


def change(folder: RunFolder, name: str, edit: Callable[[Any], None]) -> None:
    value = json.loads((folder / name).read_text())
    edit(value)
    (folder / name).write_text(json.dumps(value))


def without_notes(folder: RunFolder) -> None:
    for stage in ("plan", "keyframes", "evidence"):
        folder.finish(stage, "k", [], seconds=1.5, made_from={})


HOSTILE = "<script>alert(1)</script>"


def boxes_of(text: str) -> list[str]:
    return re.findall(r'<div class="notes.*?</div>', text, re.DOTALL)


def judge_as(folder: RunFolder, verdict: str) -> None:
    found: dict[str, Any] = {"schema": "physplan.verdict/1", "verdict": verdict, "reason": HOSTILE}
    if verdict != "not checked":
        edit = {"edit": HOSTILE, "objects": ["ice#1"], "verdict": verdict, "value": None, "frame": 3}
        event = {"event": 1, "anchor": 3, "verdict": verdict, "value": 0.1, "stray": 0.0, "edits": [edit]}
        kept = {"object": HOSTILE, "kept": False, "change": 0.2, "frame": 9}
        found |= {"score": 0.1, "compared_with": "keyframes", "events": [event], "bystanders": [kept]}
        found["motion"] = {"step": 1.0}
    (folder / "verdict.json").write_text(json.dumps(found))
    folder.finish("verdict", "k", [folder / "verdict.json"], seconds=0.1, made_from={})


def test_all_is_well_is_said_of_what_was_checked_and_no_more(finished: RunFolder) -> None:
    without_notes(finished)
    verdict, keyframes = boxes_of(write_report(finished).read_text())
    assert "every keyframe passed its check" in keyframes
    assert "not checked" in verdict
    assert "run it again to check it" in verdict
    assert "fine" not in verdict + keyframes


@pytest.mark.parametrize(
    ("verdict", "colour"),
    [("holds", "fine"), ("doubtful", "unsure"), ("fails", "bad"), ("not checked", "plain")],
)
def test_the_first_box_has_the_colour_of_the_verdict(finished: RunFolder, verdict: str, colour: str) -> None:
    judge_as(finished, verdict)
    text = write_report(finished).read_text()
    assert boxes_of(text)[0].startswith(f'<div class="notes {colour}">')
    assert ('id="verdict"' in text) == (verdict != "not checked")
    assert "<script" not in text


def test_a_verdict_on_another_file_is_none(finished: RunFolder) -> None:
    judge_as(finished, "holds")
    (finished / "verdict.json").write_text((finished / "verdict.json").read_text().replace("0.1", "0.9"))
    assert "changed afterwards" in boxes_of(write_report(finished).read_text())[0]


def test_a_verdict_that_is_none_is_refused(finished: RunFolder) -> None:
    judge_as(finished, "splendid")
    with pytest.raises(PhysPlanError, match=r"verdict.json cannot be used .*holds, doubtful, fails"):
        write_report(finished)


def test_a_given_plan_is_a_fact_and_no_warning(finished: RunFolder) -> None:
    without_notes(finished)
    finished.finish("plan", "k", [], seconds=1.5, made_from={}, notes=["the plan was given"])
    change(finished, "run.json", lambda run: run["inputs"].update(plan="0" * 64))
    text = write_report(finished).read_text()
    assert "plan <b>given</b>" in text
    assert "the plan was given" not in text
    assert "Worth knowing" not in text


@pytest.mark.parametrize(("size", "warned"), [((64, 48), False), ((64, 52), False), ((128, 48), True)])
def test_a_picture_that_loses_much_is_warned_of(
    finished: RunFolder, size: tuple[int, int], warned: bool
) -> None:
    without_notes(finished)
    frame = Image.open(finished / "frame.png").size
    scaled = (size[0] * frame[0] // 64, size[1] * frame[1] // 48)
    Image.new("RGB", scaled).save(finished / "input.png")
    change(finished, "run.json", lambda run: run["identity"].update({"video.fit": "crop"}))
    told = "".join(boxes_of(write_report(finished).read_text()))
    assert ("50% of the picture is cut off" in told) == warned


def test_what_readers_stumble_over_is_explained_where_it_is_there(finished: RunFolder) -> None:
    assert "take turns" not in write_report(finished).read_text()

    def by_turns(losses: Any) -> None:
        for number, step in enumerate(losses["steps"]):
            step["terms"] = [step["terms"][number % 2], {**step["terms"][0], "term": "keep"}]

    change(finished, "losses.json", by_turns)
    text = write_report(finished).read_text()
    assert "The events take turns" in text
    assert "<b>keep</b> holds objects that no edit names" in text


def test_every_picture_has_a_text_in_its_place(finished: RunFolder) -> None:
    text = write_report(finished).read_text()
    page = Page(text)
    assert page.tags.count("img") >= 8
    assert page.unnamed == []
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    plan = to_html(melting_chain())
    assert 'name="viewport"' in plan
    assert "default-src 'none'" in plan
    assert "prefers-color-scheme: dark" in plan


NAMELESS = """[...document.querySelectorAll('img, video, svg:not([aria-hidden])')].filter(one =>
    !one.alt && !one.getAttribute('aria-label') && !one.querySelector('title')).length"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_pages_fit_a_phone_and_every_picture_has_words(
    chromium: Any, finished: RunFolder, tmp_path: Path, scheme: str
) -> None:
    judge_as(finished, "holds")
    (tmp_path / "plan.html").write_text(to_html(melting_chain()), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    grounds = []
    for path in (write_report(finished), tmp_path / "plan.html"):
        page = context.new_page()
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(NAMELESS) == 0
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    context.close()
    light = [sum(map(int, re.findall(r"\d+", ground)[:3])) > 380 for ground in grounds]
    assert light == [scheme == "light"] * 2, grounds
