"""The table of changes is whole: each command that writes has a row, and each option has a word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from support.plug_ins import on_path, package_in

from savepoint_cli.main import main
from savepoint_cli.terminal.help import CommonOption
from savepoint_extensions.change_files.change_commands import _OF_WRITING, _word
from savepoint_extensions.change_files.change_file import ChangeFile
from savepoint_extensions.change_files.change_table import all_kinds, own_kinds, plug_in_changes
from savepoint_formats.savepoint_warnings import PlugInWarning
from state_processor import SavepointWriter

if TYPE_CHECKING:
    from savepoint_extensions.change_files.change_kinds import ChangeKind

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "review-state-changes.md"

# Commands that write OUT, and are no change of a savepoint.
NO_CHANGES = {"apply", "copy", "export", "query"}

# Options of commands that an entry does not have; the page says why.
WITHOUT_WORD = {
    "delete-keys": {"certificate"},
    "mask": {"suggest", "limit"},
    "sinks": {"save", "out"},
    "sources": {"out"},
    "kafka": {"out", "format"},
    "import": {
        *("from-spark", "operator", "uid", "like", "aggregate", "timeout", "ttl", "left", "right"),
        *("key", "on", "allowed-lateness", "window-time", "begin-empty"),
    },
    "sql-migrate": {"old", "savepoint"},
}

# Words of entries that a command has in another form.
OTHER_FORMS = {"rename-class": {"old", "new", "classes"}}

# Verbs of writers without an entry; the page says why.
NO_ENTRIES = {
    "with_operator",
    "with_state",
    "with_kafka_source",
    "with_file_source",
    "apply",
    "classes_to_describe",
}
VERBS = {
    "masked": "mask",
    "erase": "delete-keys",
    "renew_connectors": "sources",
    **{name: name.replace("_", "-") for name in ("sample", "rescale", "convert", "migrate")},
}

PLUG_IN = """
from state_processor.plugins import ChangeKind, TextWord

def tidy(writer, words):
    return writer.remove_operator(words["operator"])

TIDY = ChangeKind(
    "tidy",
    "Remove the operator of the shop.",
    (TextWord("operator", "The operator.", is_required=True),),
    tidy,
)
"""


def options_of(command: click.Command) -> set[str]:
    """The words of options and arguments that say what changes."""
    read = {"nanoseconds", "undescribed_subclasses"}
    return {
        _word(parameter)
        for parameter in command.params
        if parameter.name not in _OF_WRITING
        and (not isinstance(parameter, CommonOption) or parameter.name in read)
    }


def test_each_command_that_writes_has_a_row() -> None:
    writing = {
        name
        for name, command in main.commands.items()
        if any(parameter.name == "out" for parameter in command.params)
    }
    assert writing - NO_CHANGES == set(own_kinds())


def test_each_command_of_a_row_prints_its_change() -> None:
    for name in own_kinds():
        assert "print_change" in {parameter.name for parameter in main.commands[name].params}, name


@pytest.mark.parametrize("kind", own_kinds().values(), ids=lambda kind: kind.name)
def test_each_option_has_a_word_and_each_word_an_option(kind: ChangeKind) -> None:
    options = options_of(main.commands[kind.name]) - WITHOUT_WORD.get(kind.name, set())
    if kind.name in OTHER_FORMS:
        options = options - {"renames"} | OTHER_FORMS[kind.name]
    assert {word.name for word in kind.words} == options


@pytest.mark.parametrize("kind", own_kinds().values(), ids=lambda kind: kind.name)
def test_choices_are_those_of_the_command(kind: ChangeKind) -> None:
    choices = {
        _word(parameter): tuple(parameter.type.choices)
        for parameter in main.commands[kind.name].params
        if isinstance(parameter.type, click.Choice)
    }
    words = {word.name: getattr(word, "choices", ()) for word in kind.words if word.name in choices}
    assert {name: set(choices[name]) for name in words} == {
        name: set(named) for name, named in words.items()
    }


def test_each_verb_of_a_writer_has_an_entry() -> None:
    verbs = {
        name
        for name in dir(SavepointWriter)
        if not name.startswith("_")
        and getattr(getattr(SavepointWriter, name), "__annotations__", {}).get("return")
        == "SavepointWriter"
    }
    entries = {VERBS.get(verb, verb.replace("_", "-")) for verb in verbs - NO_ENTRIES}
    assert entries <= set(own_kinds())


def test_the_page_names_every_entry_and_every_option_without_a_word() -> None:
    text = PAGE.read_text()
    entries = set(re.findall(r"^\| `([\w-]+)`", text, re.M))
    assert entries == set(own_kinds())
    for options in WITHOUT_WORD.values():
        for option in options - {"out", "old", "savepoint"}:
            assert f"--{option}" in text
    for verb in NO_ENTRIES - {"apply", "classes_to_describe"}:
        assert f"`{verb}`" in text


def test_the_table_needs_no_spark() -> None:
    program = (
        "import sys; from savepoint_extensions.change_files.change_table import all_kinds\n"
        "all_kinds(); print(*{'pyspark', 'duckdb', 'click'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b""


class TestAChangeOfAPlugIn:
    def test_it_is_an_entry_like_any_other(self, tmp_path: Path) -> None:
        entries = {"savepoint.changes": {"tidy": "acme_tidy:TIDY"}}
        with on_path(package_in(tmp_path, "acme-tidy", entries, acme_tidy=PLUG_IN)):
            assert list(all_kinds())[-1] == "tidy"
            (entry,) = ChangeFile.of([{"tidy": {"operator": "sink"}}]).entries
            assert entry.words == {"operator": "sink"}

    def test_what_is_no_kind_of_change_is_a_warning(self, tmp_path: Path) -> None:
        entries = {"savepoint.changes": {"tidy": "acme_none:tidy"}}
        with on_path(package_in(tmp_path, "acme-none", entries, acme_none="tidy = 7")):
            with pytest.warns(PlugInWarning, match="int, expected a ChangeKind"):
                assert "tidy" not in all_kinds()
            assert len(plug_in_changes().problems) == 1

    def test_a_name_that_is_taken_is_refused(self, tmp_path: Path) -> None:
        text = PLUG_IN.replace('"tidy"', '"convert"')
        entries = {"savepoint.changes": {"tidy": "acme_taken:TIDY"}}
        folder = package_in(tmp_path, "acme-taken", entries, acme_taken=text)
        with (
            on_path(folder),
            pytest.warns(PlugInWarning, match="convert is registered by savepoint"),
        ):
            assert all_kinds()["convert"] is own_kinds()["convert"]
