"""The page about a run: legible at every stage of it, and safe whatever the texts say."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from PIL import Image

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
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
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
