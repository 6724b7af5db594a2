"""`physplan` alone: where to start, and every command in a group with an example that its parser takes."""

from __future__ import annotations

import shlex

import pytest

from physplan.cli import GROUPS, OTHER, START, build_parser, commands, main, overview


def test_physplan_alone_says_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    alone = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out == alone
    assert len([line for line in alone.splitlines()[3:8] if line.startswith("  physplan ")]) == 5
    assert max(map(len, alone.splitlines())) <= 120


def test_every_command_is_in_one_group_and_research_comes_last() -> None:
    named = [name for group in GROUPS.values() for name in group]
    assert sorted(named) == sorted(commands())
    assert list(GROUPS)[-1].startswith("Research")


@pytest.mark.parametrize(
    "line", [*START.splitlines()[1:], *(e for group in GROUPS.values() for e in group.values())]
)
def test_each_example_is_taken_by_its_parser(line: str) -> None:
    command = line.strip().split("   ")[0]
    assert build_parser().parse_args(shlex.split(command)[1:]).run


def test_a_command_of_another_package_has_a_group_before_research() -> None:
    lines = overview({"doctor": "d", "mine": "what mine does", "evaluate": "e"}).splitlines()
    assert lines.index(f"{OTHER}:") < lines.index("Research and debugging:")
    assert any(line.startswith("  mine ") and "what mine does" in line for line in lines)


@pytest.mark.parametrize(
    ("word", "answer"), [("generates", "Did you mean 'generate'?"), ("xyz", "Choose one of: ")]
)
def test_a_mistyped_command_is_answered_with_the_nearest(
    word: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert f"There is no command {word!r}. {answer}" in capsys.readouterr().err
