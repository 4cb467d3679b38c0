r"""Text from a savepoint in a form that is safe to show in a terminal or page.

Anybody may have written names and values. Some characters are commands: they clear a terminal, end
a line, or make text read backwards. Others can't be seen. They are replaced by Python's escapes: ``\x1b``, ``\u202e``.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.quantities import ByteCount, Share
from savepoint_formats.shared_names import NAMES, leave_out_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

# C0, delete, C1, controls of direction, separators of lines, and lone surrogates, which have no
# encoding. Then what nobody sees, but programs read: spaces without width, tags and selectors, of
# which a whole sentence for an agent can be made. Joiners stay, because scripts and emoji need them.
_COMMANDS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    r"\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)

# user:password@ behind the scheme. A name without a colon, such as an Azure container, is no secret.
_CREDENTIALS = re.compile(r"://[^\s/?#@:'\"]*:[^\s/?#'\"]*@")
_SECRET_OPTIONS = re.compile(
    r"([?&;][^\s=&#'\"]*(?:key|secret|token|password|passwd|credential|signature|\bsig)[^\s=&#'\"]*=)"
    r"[^\s&#;'\"]+",
    re.IGNORECASE,
)

_IDENTIFYING = re.compile(r"\b(id|offset|partition|epoch|version|key group|subtask|parallelism)$")

# Notebooks align all cells to the right, by rules of higher precedence than a single class.
_TABLE = ".savepoint-table" * 4
_TABLE_STYLE = (
    f"{_TABLE} td,{_TABLE} th{{text-align:left;vertical-align:top}}"
    f"{_TABLE} .number{{text-align:right;font-variant-numeric:tabular-nums}}"
)
_MOST_ROWS = 500


def printable(text: str, *, keep: str = "") -> str:
    r"""The text on one line, with escapes for commands except the characters of ``keep``.

    Example:
        >>> printable("total\x1b[2J")
        'total\\x1b[2J'
    """
    return _COMMANDS.sub(lambda match: _escaped(match[0], keep), text)


def encodable(text: str) -> str:
    r"""The text with escapes for halves of surrogate pairs, which Java writes and UTF-8 doesn't have.

    Example:
        >>> encodable("total\ud800")
        'total\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def without_secrets(text: str) -> str:
    """The text with ``***`` for each password, key, token or signature of a URI in it.

    Example:
        >>> without_secrets("s3://AKIA:secret@jobs/sp-1?session_token=abc&region=eu")
        's3://***:***@jobs/sp-1?session_token=***&region=eu'
    """
    return _SECRET_OPTIONS.sub(r"\1***", _CREDENTIALS.sub("://***:***@", text))


def json_printable(text: str) -> str:
    r"""JSON on one line, with JSON's escapes for commands.

    Example:
        >>> json_printable('"\u202e"')
        '"\\u202e"'
    """
    return _COMMANDS.sub(lambda match: _json_escape(match[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def html_printable(text: str) -> str:
    r"""The text as HTML without markup or change of direction.

    Example:
        >>> html_printable("<b>\u202e")
        '&lt;b&gt;\\u202e'
    """
    from html import escape  # noqa: PLC0415  # for notebooks and pages only

    return escape(printable(text))


def field_text(value: object, name: str = "") -> str:
    """A record's field as text for people; digits of ids, which ``name`` reveals, are not grouped.

    Example:
        >>> field_text(14_168), field_text(("a", "b")), field_text(True)
        ('14,168', 'a, b', 'yes')
    """
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case tuple() if is_of_records(value):
            return f"{len(value):,}"
        case tuple():
            return ", ".join(map(str, value))
        case ByteCount() | Share():
            return value.text
        case int():
            return str(value) if identifies(name) else f"{value:,}"
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)


def fields_of(record: Any) -> dict[str, Any]:
    """Names and values of a record: a dict, or an instance of a dataclass."""
    if isinstance(record, dict):
        return record
    return {field.name: getattr(record, field.name) for field in fields(record)}


def is_of_records(value: object) -> bool:
    """Whether a field holds records."""
    return isinstance(value, tuple) and any(map(is_dataclass, value))


def html_records(title: str, records: Iterable[object], names: Sequence[str]) -> str:
    """HTML of records in a notebook: a line of text, and a table with these fields of each.

    What all names of operators or tables share is left out, and noted below the table.
    """
    rows = [[getattr(record, name) for name in names] for record in records]
    notes = leave_out_shared(rows, [pair for pair in enumerate(names) if pair[1] in NAMES])
    headings = [name.replace("_", " ") for name in names]
    noted = "".join(f"<p>{html_printable(note)}</p>" for note in notes)
    return html_table(title, headings, rows, field_text) + noted


def html_table(
    title: str,
    names: Sequence[str],
    rows: Iterable[Sequence[object]],
    text: Callable[[object, str], str] | None = None,
) -> str:
    """HTML of an object in a notebook: a line of text, and a table with these columns.

    ``text`` gives the text of a value in a column; by default values are data.
    """
    text = text or _value_text
    shown = list(rows)
    left_out = len(shown) - _MOST_ROWS
    shown = shown[:_MOST_ROWS]
    kinds = [
        ' class="number"' * any(_is_number(row[n]) for row in shown) for n in range(len(names))
    ]
    lines = (("th", names), *(("td", row) for row in shown))
    cells = (
        "".join(
            f"<{tag}{kind}>{html_printable(text(value, name))}</{tag}>"
            for value, kind, name in zip(values, kinds, names, strict=True)
        )
        for tag, values in lines
    )
    table = "".join(f"<tr>{line}</tr>" for line in cells)
    more = f"<p>… {left_out:,} more</p>" if left_out > 0 else ""
    return (
        f'<p>{html_printable(without_secrets(title))}</p><table class="savepoint-table">{table}</table>'
        f"{more}<style>{_TABLE_STYLE}</style>"
    )


def identifies(name: str) -> bool:
    """Whether numbers of this name are ids, whose digits are not grouped, rather than counts.

    Example:
        >>> identifies("checkpoint id"), identifies("size")
        (True, False)
    """
    return bool(_IDENTIFYING.search(name.replace("_", " ")))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value_text(value: object, name: str) -> str:
    """A value of data, with all its digits."""
    if value is False:
        return "no"
    return str(value) if isinstance(value, float) else field_text(value, name)


def call_text(made: Any) -> str:
    """The call that makes this instance of a dataclass, without default arguments.

    Example:
        >>> call_text(ReadOptions(keys=("a",)))
        "ReadOptions(keys=('a',))"
    """
    arguments = []
    for field in fields(made):
        value = getattr(made, field.name)
        is_first = field.default is MISSING and field.default_factory is MISSING
        if is_first:
            arguments.append(repr(value))
        elif value != (
            field.default if field.default_factory is MISSING else field.default_factory()
        ):
            arguments.append(f"{field.name}={value!r}")
    return f"{type(made).__name__}({', '.join(arguments)})"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message that suggests a similar name; empty if there is none.

    Example:
        >>> did_you_mean("sumarize", ["source", "summarize"])
        "; did you mean 'summarize'?"
    """
    from difflib import get_close_matches  # noqa: PLC0415  # for messages only

    by_name = {name.casefold(): name for name in known}
    meant = get_close_matches(name.casefold(), by_name, 1)
    return f"; did you mean {by_name[meant[0]]!r}?" if meant else ""


def alternatives(name: str, known: Collection[str]) -> str:
    """The end of a message about an unknown name: the known names, and a similar one.

    Example:
        >>> alternatives("totl", ["total", "count"])
        "it has: total, count; did you mean 'total'?"
    """
    return f"it has: {', '.join(known) or 'none'}{did_you_mean(name, known)}"


def _escaped(character: str, keep: str) -> str:
    return character if character in keep else character.encode("unicode_escape").decode("ascii")
