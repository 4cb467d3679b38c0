"""The table of commands: under which heading each is listed, and the module that has it.

A command is imported when it is called: ``--help`` and completion of the first word import none. Plug-ins
are looked for where this table does not answer: in ``--help``, in that completion, and for a word that
is no command here.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from savepoint_formats.lazy_names import named
from savepoint_formats.plug_ins import COMMANDS, Loaded, are_on, loaded

if TYPE_CHECKING:
    from savepoint_formats.plug_ins import PlugIn


class OwnCommand(NamedTuple):
    """A command of this package.

    Attributes:
        place: ``module:name`` of the command.
        help: Its line in ``savepoint --help``.
    """

    place: str
    help: str


PRINT_CHANGE = "savepoint_extensions.change_files.change_commands:print_change"
"""The function behind ``--print-change``."""

IS_OF_SPARK = "savepoint_extensions.spark_streams.checkpoint_files:is_checkpoint"
"""The function that tells a checkpoint of Spark; it needs no Spark."""

OF_SPARK = "savepoint_extensions.spark_streams.checkpoint_commands:answer"
"""The function that answers commands about a checkpoint of Spark, where no savepoint is found."""

ADDED = {"import": "savepoint_extensions.spark_streams.stream_options:STREAM"}
"""Command -> the ``AddedOptions`` of an extension, which are imported with the command."""

REPLICA = "savepoint_extensions.backup.backup_commands:replica"
"""The function behind ``verify --replica-of``."""

_MOST_HELP = 70  # characters of a line of help that is cut from a docstring

OWN: dict[str, dict[str, OwnCommand]] = {
    "Look into a savepoint": {
        "describe": OwnCommand(
            "savepoint_cli.inspect:describe", "Show its format, operators and states"
        ),
        "list": OwnCommand(
            "savepoint_cli.inspect:list_tables", "List its tables, and what SQL calls them"
        ),
        "show": OwnCommand("savepoint_cli.inspect:show", "Show rows of a table"),
        "query": OwnCommand(
            "savepoint_cli.query:query", "Run SQL over its tables, or open a prompt for it"
        ),
        "key": OwnCommand("savepoint_cli.audit:key", "Show everything that a key has"),
        "browse": OwnCommand(
            "savepoint_extensions.browse.browse_commands:browse",
            "Browse all of it on a full screen",
        ),
        "schema": OwnCommand(
            "savepoint_cli.inspect:schema", "Show the columns of tables, with their types"
        ),
        "types": OwnCommand(
            "savepoint_cli.inspect:state_types", "Print the types of a PyFlink job's states"
        ),
        "files": OwnCommand(
            "savepoint_cli.inspect:files", "List its files, and which state refers to them"
        ),
        "serve": OwnCommand(
            "savepoint_extensions.serving.serve_commands:serve", "Show it in a web browser"
        ),
        "mcp": OwnCommand(
            "savepoint_extensions.serving.agent_commands:mcp", "Answer agents about it, by MCP"
        ),
        "demo": OwnCommand(
            "savepoint_cli.demo:demo", "Copy a small savepoint, and walk through these commands"
        ),
    },
    "Judge it": {
        "verify": OwnCommand("savepoint_cli.checks:verify", "Check that it is whole"),
        "doctor": OwnCommand(
            "savepoint_extensions.upgrade.doctor_commands:doctor",
            "Tell whether a release of Flink restores it",
        ),
        "stats": OwnCommand(
            "savepoint_extensions.sizes.size_commands:stats",
            "Show sizes: states, keys, skew, timers",
        ),
        "diff": OwnCommand("savepoint_cli.checks:diff", "Compare it with another one"),
        "changes": OwnCommand(
            "savepoint_extensions.change_feed.feed_commands:changes",
            "Show each change of state up to another one",
        ),
        "sql-diff": OwnCommand(
            "savepoint_extensions.sql_jobs.sql_commands:sql_diff",
            "Tell which state survives a change of its SQL query",
        ),
        "kafka": OwnCommand(
            "savepoint_extensions.connectors.connector_commands:kafka",
            "Show or change the offsets of Kafka sources",
        ),
        "sinks": OwnCommand(
            "savepoint_extensions.connectors.connector_commands:sinks",
            "Show or drop pending commits of sinks",
        ),
        "sources": OwnCommand(
            "savepoint_extensions.connectors.connector_commands:sources",
            "Show or change the positions of sources",
        ),
    },
    "Many savepoints": {
        "snapshots": OwnCommand("savepoint_cli.audit:snapshots", "List all below a directory"),
        "jobs": OwnCommand(
            "savepoint_extensions.live_jobs.live_commands:live_jobs",
            "List those of a running cluster's jobs",
        ),
        "history": OwnCommand(
            "savepoint_extensions.lifecycle.lifecycle_commands:history",
            "Show what a key had in each of them",
        ),
        "find": OwnCommand(
            "savepoint_extensions.privacy.privacy_commands:find_values",
            "Find a value: in keys, values, operator state, bytes",
        ),
        "gc": OwnCommand(
            "savepoint_extensions.lifecycle.lifecycle_commands:gc",
            "List or remove files that none of them needs",
        ),
        "backup": OwnCommand(
            "savepoint_extensions.backup.backup_commands:backup",
            "Back one up beside earlier ones, which share files",
        ),
        "restore-drill": OwnCommand(
            "savepoint_extensions.backup.backup_commands:drill", "Try out a backup"
        ),
        "watch": OwnCommand(
            "savepoint_extensions.watch.watch_commands:watch",
            "Show what grows from checkpoint to checkpoint of a job",
        ),
    },
    "Write another one": {
        "apply": OwnCommand(
            "savepoint_extensions.change_files.change_commands:apply_changes",
            "Write it with all changes of a file",
        ),
        "copy": OwnCommand(
            "savepoint_cli.modify:copy", "Copy a savepoint, with every file that it needs"
        ),
        "change-avro": OwnCommand(
            "savepoint_extensions.upgrade.migrate_commands:change_avro",
            "Rewrite a state's Avro values by another schema",
        ),
        "update-state": OwnCommand(
            "savepoint_cli.change:update_state", "Update the values of a state, by SQL"
        ),
        "delete-keys": OwnCommand(
            "savepoint_cli.change:delete_keys", "Delete keys, by SQL or from the answer of find"
        ),
        "migrate": OwnCommand(
            "savepoint_extensions.upgrade.migrate_commands:migrate",
            "Rewrite state of Flink 1.x so that Flink 2.x restores it",
        ),
        "rescale": OwnCommand(
            "savepoint_cli.modify:rescale", "Rescale to other key groups and another parallelism"
        ),
        "rename-operator": OwnCommand(
            "savepoint_cli.modify:rename_operator", "Rename an operator: give its state another uid"
        ),
        "remove-operator": OwnCommand(
            "savepoint_cli.modify:remove_operator", "Remove operators and their state"
        ),
        "transplant": OwnCommand(
            "savepoint_extensions.connectors.connector_commands:transplant",
            "Take an operator of another savepoint",
        ),
        "set-ttl": OwnCommand(
            "savepoint_extensions.lifecycle.ttl_commands:set_ttl",
            "Add a time to live to a state, or take it away",
        ),
        "expire": OwnCommand(
            "savepoint_extensions.lifecycle.ttl_commands:expire",
            "Remove values past a time to live",
        ),
        "dedupe-list": OwnCommand(
            "savepoint_extensions.lifecycle.ttl_commands:dedupe_list",
            "Leave each element of an operator's list once",
        ),
        "remove-state": OwnCommand("savepoint_cli.modify:remove_state", "Remove a state"),
        "sql-migrate": OwnCommand(
            "savepoint_extensions.sql_jobs.sql_commands:sql_migrate",
            "Rewrite the state of a SQL job for a changed query",
        ),
        "convert": OwnCommand(
            "savepoint_cli.modify:convert", "Convert it to canonical, for another state backend"
        ),
        "classes": OwnCommand(
            "savepoint_extensions.upgrade.migrate_commands:classes",
            "Print the classes that you must describe for migrate",
        ),
        "rename-state": OwnCommand("savepoint_cli.change:rename_state", "Rename a state"),
        "rename-class": OwnCommand(
            "savepoint_cli.change:rename_class", "Rename a Java class in serializers and values"
        ),
        "rename-constant": OwnCommand(
            "savepoint_cli.change:rename_constant", "Rename a constant of an enum"
        ),
        "drop-constant": OwnCommand(
            "savepoint_cli.change:drop_constant", "Remove a constant of an enum that nothing uses"
        ),
        "rename-field": OwnCommand(
            "savepoint_cli.change:rename_field", "Rename a field of a state's values"
        ),
        "add-field": OwnCommand(
            "savepoint_cli.change:add_field", "Add a field to a state's values"
        ),
        "drop-field": OwnCommand(
            "savepoint_cli.change:drop_field", "Remove a field from a state's values"
        ),
        "widen-field": OwnCommand(
            "savepoint_cli.change:widen_field", "Widen the type of a field of a state's values"
        ),
        "mask": OwnCommand(
            "savepoint_extensions.privacy.privacy_commands:mask",
            "Mask values and keys by rules, or draft the rules",
        ),
        "sample": OwnCommand(
            "savepoint_extensions.privacy.privacy_commands:sample",
            "Copy a sample of its keys, masked if wanted",
        ),
        "merge-local": OwnCommand(
            "savepoint_cli.modify:merge_local", "Merge local keyed state into ordinary state"
        ),
    },
    "Carry rows": {
        "export": OwnCommand(
            "savepoint_cli.transfer:export_table",
            "Export a table to a file, DuckDB, Delta or Iceberg",
        ),
        "import": OwnCommand(
            "savepoint_cli.transfer:import_table", "Import a file as the state of an operator"
        ),
    },
    "Extend this program": {
        "plugins": OwnCommand("savepoint_cli.plugins:plugins", "List the plug-ins and their state"),
    },
}
"""Heading in ``savepoint --help`` -> name -> command."""


def _all_own() -> dict[str, OwnCommand]:
    return {name: own for commands in OWN.values() for name, own in commands.items()}


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands of this package by name, each imported when it is asked for."""

    def __init__(self) -> None:
        self._own = _all_own()
        self._imported: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._imported:
            own = self._own[name]
            command = named(own.place)
            assert isinstance(command, click.Command)
            command.short_help = own.help
            self._imported[name] = command
        return self._imported[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._imported[name] = command

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **self._imported})

    def __len__(self) -> int:
        return len({**self._own, **self._imported})

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._imported


def plug_in_commands(name: str | None = None) -> Loaded:
    """The commands of plug-ins; with a ``name``, only one of that name is imported."""
    return _loaded(name, are_on())


@cache
def _loaded(name: str | None, _are_on: bool) -> Loaded:
    return loaded(COMMANDS, _rows_of, _all_own().__contains__, name)


def _rows_of(plug_in: PlugIn, entry: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(entry, click.Command):
        from state_processor.plugins import PlugInCommand  # noqa: PLC0415  # imports Arrow

        entry = PlugInCommand(entry, entry.get_short_help_str(_MOST_HELP) or f"of {plug_in}")
    if not isinstance(getattr(entry, "command", None), click.Command):
        raise TypeError(f"{type(entry).__name__}, expected a PlugInCommand with a click.Command")
    if not all(isinstance(text, str) and text for text in (entry.help, entry.heading)):
        raise TypeError("a PlugInCommand without a line of help, or without a heading")
    yield plug_in.name, entry


def listed(plug_ins: Loaded) -> dict[str, dict[str, str]]:
    """Heading -> name -> line of help, of the commands of this package and of plug-ins."""
    headings = {
        heading: {name: own.help for name, own in commands.items()}
        for heading, commands in OWN.items()
    }
    for name, row in plug_ins.rows.items():
        headings.setdefault(row.value.heading, {})[name] = row.value.help
    return headings
