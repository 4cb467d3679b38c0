"""Writes ``docs/formats/`` from the docstrings that have a table: python docs/collect_formats.py.

Whoever changes a byte form changes the table beside it. These pages show the same tables to those
who do not read Python.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = Path(__file__).with_name("formats")
ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "formats" / "savepoint_formats"
EXTENSIONS = ROOT / "state_processor" / "savepoint_extensions"
CONNECTORS = EXTENSIONS / "connectors"

SECTION = re.compile(r"\n(Args|Attributes|Example|Raises|Returns|Yields):\n(?:[ ].*\n|\n)*")
LITERAL = re.compile(r"^(.*)::\n\n((?:[ ]{4}.*\n|\n(?=[ ]{4}))+)", re.MULTILINE)
ROLE = re.compile(r":\w+:`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of ``docs/formats``.

    Attributes:
        name: Of the file.
        title: What its readers look for.
        rooms: The folders whose docstrings it shows.
        package: The folder of these folders.
    """

    name: str
    title: str
    rooms: tuple[str, ...]
    package: Path = PACKAGE


CONTENTS = (
    Page("metadata", "The `_metadata` file", ("metadata",)),
    Page("state-files", "State files", ("state_files", "entries")),
    Page("rocksdb", "RocksDB's tables", ("state_files/rocksdb",)),
    Page("snapshots", "Snapshots of serializers", ("snapshots", "snapshots/sql")),
    Page(
        "new-forms",
        "Serializers with other names, and of another Flink",
        ("enums", "upgrade"),
        EXTENSIONS,
    ),
    Page("values", "Values", ("values", "values/kinds")),
    Page("kryo", "Objects of Kryo", ("values/kryo",)),
    Page("streams", "Java streams and compression", ("java", "bytes")),
    Page("key-groups", "Key groups and hash codes", ("key_groups", "hashing")),
    Page("kafka", "State of the Kafka connector", ("kafka",), CONNECTORS),
    Page("sinks", "State of sinks", ("sinks",), CONNECTORS),
    Page("source-splits", "Splits of sources", ("source_splits",), CONNECTORS),
    Page("python", "State of PyFlink", ("python_state",)),
)


def format_pages() -> dict[str, str]:
    """The text of each file of ``docs/formats``, by its name."""
    return {"index.md": _index()} | {f"{page.name}.md": _text_of(page) for page in CONTENTS}


def _index() -> str:
    lines = [f"* [{page.title}]({page.name}.md)" for page in CONTENTS]
    return "\n".join(
        [
            "# Format notes",
            "",
            "The meaning of the bytes of a savepoint, in the words of the code that reads and writes them.",
            "Java's types are big endian: `u8` is a byte, `i32` an int, `i64` a long, `utf` a u16 size and modified UTF-8.",
            "`python docs/collect_formats.py` collects these pages from the docstrings.",
            "",
            *lines,
            "",
        ]
    )


def _text_of(page: Page) -> str:
    modules = [path for room in page.rooms for path in sorted((page.package / room).glob("*.py"))]
    notes = [list(_module_notes(path)) for path in modules]
    # What is said of a whole file comes before what is said of its parts.
    notes.sort(key=lambda parts: not any(map(_has_table, parts[:2])))
    return "\n".join([f"# {page.title}\n", *(part for parts in notes for part in parts)])


def _module_notes(path: Path) -> Iterator[str]:
    """The notes of a module: its own docstring leads those of what it holds."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    notes = [
        (node.name, ast.get_docstring(node) or "")
        for node in sorted(nodes, key=lambda node: node.lineno)
    ]
    inner = [(name, text) for name, text in notes if _has_table(text)]
    of_module = ast.get_docstring(tree) or ""
    if not inner and not _has_table(of_module):
        return
    yield f"## {_first_sentence(of_module)}\n"
    yield _markdown(_after_first_sentence(of_module))
    for name, text in inner:
        yield f"### `{name}`\n"
        yield _markdown(text)


def _has_table(text: str) -> bool:
    return "\n|--" in text


def _first_sentence(text: str) -> str:
    return _inline(text.split("\n\n", maxsplit=1)[0].replace("\n", " ")).rstrip(".")


def _after_first_sentence(text: str) -> str:
    return text.partition("\n\n")[2]


def _markdown(text: str) -> str:
    """A docstring without what is said of its arguments, as Markdown."""
    text = SECTION.sub("\n", f"{text}\n")
    text = LITERAL.sub(_fenced, text)
    return _inline(text).strip() + "\n"


def _fenced(block: re.Match[str]) -> str:
    before, code = block.groups()
    lead = f"{before}:\n\n" if before else ""
    return f"{lead}```text\n{inspect.cleandoc(code)}\n```\n\n"


def _inline(text: str) -> str:
    """Reference roles and double backticks, as Markdown has them; fences stay."""
    return re.sub(r"(?<!`)``(?!`)", "`", ROLE.sub(r"`\1`", text))


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for name, text in format_pages().items():
        (PAGES / name).write_text(text, encoding="utf-8")
