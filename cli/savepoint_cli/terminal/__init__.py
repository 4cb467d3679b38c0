"""Shows answers on a terminal or in a pipe: cells, tables, progress."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_cli.terminal.advice import followable, options_of
    from savepoint_cli.terminal.cells import shortened
    from savepoint_cli.terminal.help import CommonOption, command
    from savepoint_cli.terminal.output import Output, output_option
    from savepoint_cli.terminal.value_lines import (
        Line,
        bounded,
        cell_text,
        key_lines,
        record_cells,
        record_lines,
        row_lines,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "CommonOption",
    "Line",
    "Output",
    "bounded",
    "cell_text",
    "command",
    "followable",
    "key_lines",
    "options_of",
    "output_option",
    "record_cells",
    "record_lines",
    "row_lines",
    "shortened",
]
