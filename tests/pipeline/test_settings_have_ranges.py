"""Every setting says what it takes; whatever else it is given is answered with one sentence."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config, RuntimeConfig
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan_models.cli.settings_table import ConfigField, all_settings

SETTINGS = {one.name: one for one in all_settings()}
ODD: list[Any] = [
    None, True, -1, 0, 0.5, 1e308, -1e308, math.nan, math.inf, -math.inf, 10**30, -(10**30), 10**400, "", "x",
    "x" * 100_000, "a\x1b[2J", "\ud800", [], [[]], [math.nan], {}, {"a": 1}, {1: 2}, b"x", [10**9] * 3,
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name, one in SETTINGS.items() if one.numeric])
def test_every_number_has_a_range_on_both_sides(name: str) -> None:
    limits = SETTINGS[name].metadata
    assert limits.get("low") is not None or limits.get("above") is not None
    assert limits.get("high") is not None or limits.get("below") is not None


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_says_what_it_means(name: str) -> None:
    assert SETTINGS[name].metadata.get("says") or name.endswith((".name", ".options"))


@settings(max_examples=600, deadline=None)
@given(
    name=st.sampled_from(sorted(SETTINGS)),
    value=st.one_of(
        st.sampled_from(ODD),
        st.floats(),
        st.integers(),
        st.text(max_size=20),
        st.lists(st.one_of(st.integers(), st.floats()), max_size=4),
        st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
    ),
)
def test_any_value_is_taken_or_refused_in_one_sentence(name: str, value: Any) -> None:
    taken_or_refused(name, value)


@pytest.mark.parametrize("name", SETTINGS)
def test_odd_values_are_taken_or_refused_in_one_sentence(name: str) -> None:
    for value in ODD:
        taken_or_refused(name, value)


def taken_or_refused(name: str, value: Any) -> None:
    try:
        config = load_config(Config(), {name: value})
    except PhysPlanError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert len(sentence) < 500
        return
    found = _get(config, name)
    if SETTINGS[name].numeric and found is not None:
        assert math.isfinite(found)
        assert _inside(found, SETTINGS[name])


@pytest.mark.parametrize("name", [name for name, one in SETTINGS.items() if one.numeric])
def test_one_step_outside_is_refused_and_the_edge_is_not(name: str) -> None:
    limits = SETTINGS[name].metadata
    for edge, step in (("low", -1), ("high", 1)):
        if (limit := limits.get(edge)) is not None:
            with pytest.raises(PhysPlanError, match=f"^{name} is .*: give a"):
                load_config(Config(), {name: limit + step})
    for edge in ("above", "below"):
        if (limit := limits.get(edge)) is not None:
            with pytest.raises(PhysPlanError, match=f"^{name} is .*: give a"):
                load_config(Config(), {name: limit})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("runtime.at_once", 0),
        ("runtime.threads", -1),
        ("video.eta", math.nan),
        ("runtime.timeout", math.inf),
        ("runtime.attempts", 0),
        ("runtime.device", "gpu"),
        ("video.dtype", "int3"),
    ],
)
def test_the_values_that_gave_tracebacks(name: str, value: Any) -> None:
    with pytest.raises(PhysPlanError, match=f"^{name} is"):
        load_config(Config(), {name: value})


def test_a_config_made_in_python_is_checked_as_well() -> None:
    with pytest.raises(PhysPlanError, match=r"^runtime\.at_once is 0: give a whole number from 1 to 64"):
        with_defaults(Config(runtime=RuntimeConfig(at_once=0)))


def test_doctor_prints_a_row_for_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--settings"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^\| `(\S+)` \|", out, re.M) == list(SETTINGS)
    assert (
        "| `video.fps` | a whole number from 1 to 240 |  | latents | frames per second of the file |" in out
    )
    assert "| `video.prompt` | user, plan, both | `user` | latents |" in out
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in out.splitlines() if row.startswith("|")} == {6}


def _get(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def _inside(value: float, one: ConfigField) -> bool:
    low, above, high, below = (one.metadata.get(edge) for edge in ("low", "above", "high", "below"))
    return (
        (low is None or value >= low)
        and (above is None or value > above)
        and (high is None or value <= high)
        and (below is None or value < below)
    )
