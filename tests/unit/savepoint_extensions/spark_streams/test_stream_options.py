"""Options that the extension adds to ``savepoint import``: without its own switch each of them is a wrong call."""

from __future__ import annotations

from dataclasses import fields

import click
import pytest
from support.commands import run as command

from savepoint_cli.main import main
from savepoint_extensions.spark_streams.import_words import ImportWords

VALUES = {
    "operator": "0",
    "aggregate": "a=sum",
    "begin-empty": "a",
    "ttl": "a=0s",
    "on": "true",
    "window-time": "event_time",
    "allowed-lateness": "0ms",
}


@pytest.mark.parametrize("name", VALUES)
def test_an_option_alone_is_a_wrong_call_even_with_its_default(name: str) -> None:
    code, printed = command("import", "--dry-run", f"--{name}", VALUES[name], "data", "out")
    assert code == 2
    assert f"--{name} needs --from-spark" in printed


def test_options_have_the_defaults_of_the_words_that_they_become() -> None:
    command_of_import = main.get_command(click.Context(main), "import")
    assert command_of_import is not None
    params = command_of_import.make_context("import", ["data", "out"]).params
    words = {field.name: params[field.name] for field in fields(ImportWords)}
    assert ImportWords(**words) == ImportWords()


def test_the_help_of_the_command_has_what_the_extension_adds() -> None:
    code, printed = command("import", "--help")
    assert code == 0
    for text in (
        "totals.yaml",
        "import --from-spark s3://queries/totals",
        "--begin-empty",
        "--on SQL",
    ):
        assert text in printed
