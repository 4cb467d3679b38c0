"""The command that lists plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_cli.command_table import plug_in_commands
from savepoint_cli.terminal.help import command
from savepoint_cli.terminal.output import output_option
from state_processor.plug_in_states import plug_in_states

if TYPE_CHECKING:
    from savepoint_cli.terminal.output import Output


@command()
@output_option
def plugins(output: Output) -> None:
    """List the plug-ins that are installed: what each adds, its package and version, its state.

    A plug-in is a package with entry points for serializers, connectors or commands. Its state is
    "works", "off", or the reason why it, or a part of it, is not used.

    \b
    savepoint plugins
    """
    output.rows("Plug-ins", plug_in_states(plug_in_commands()), whole=["state"])
