"""The study as plain files: complete, and without a word about methods."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from study_people import METHODS

from physplan_bench.study.design import load_study
from physplan_bench.study.make import Plan, make_study

HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u202e & \" '"


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="study">(.*?)</script>', page)[1])


def test_the_site_has_all_that_it_names_and_names_no_method(
    made: Path, tmp_path: Path, study_command
) -> None:
    site = tmp_path / "site"
    code, out, err = study_command("export", made, "-o", site)
    assert code == 0, err
    assert "#place=12" in out
    page = (site / "index.html").read_text()
    data = data_of(page)
    study = load_study(made)
    files = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert files == {"index.html", *("page.css", "common.js", "page.js", "icon.svg"), *study.files()}
    for method in METHODS:
        assert method.lower() not in page.lower()
    assert "default-src &#x27;none&#x27;" in page
    assert len(data["cards"]) == 25
    assert [len(hand) for hand in data["hands"]] == [9] * 12
    first = Counter(study.prompts[p.prompt].videos[p.first] for p in study.pairs)
    shown_first = [card["first"] in first for card in data["cards"]]
    assert 4 < sum(shown_first) < 21  # neither always nor never


def test_the_static_page_shows_what_the_server_would(made: Path, tmp_path: Path, study_command) -> None:
    study_command("export", made, "-o", tmp_path / "site")
    data, study = data_of((tmp_path / "site" / "index.html").read_text()), load_study(made)
    for place, hand in enumerate(study.hands):
        for trial, (card, flipped) in zip(hand, data["hands"][place], strict=True):
            shown = data["cards"][card]
            a, b = (shown["second"], shown["first"]) if flipped else (shown["first"], shown["second"])
            assert study.sides(trial) == (shown["prompt"], shown["frame"], a, b)


def test_hostile_words_stay_words_in_the_page(folders, tmp_path: Path, study_command) -> None:
    plan = Plan(pairs=2, title=HOSTILE, contact=HOSTILE, consent=(HOSTILE,))
    make_study(folders, tmp_path / "study", plan=plan)
    study_command("export", tmp_path / "study", "-o", tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text()
    assert page.count("</script>") == 3  # the data and two files
    assert "<img" not in page
    assert data_of(page)["title"] == HOSTILE.replace("\u202e", "")
