"""Draws ``docs/house.svg``, the rooms of the packages and who imports whom: python docs/draw_house.py.

The floors are those of the import contracts in ``pyproject.toml``; what stands in a room, and the
arrows, are read from the code. An arrow that runs up would break a contract.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).with_name("house.svg")
SOURCES = {
    "savepoint_formats": "formats",
    "savepoint_database": "state_processor",
    "savepoint_spark": "state_processor",
    "savepoint_functions": "state_processor",
    "state_processor": "state_processor",
    "savepoint_cli": "cli",
    "savepoint_extensions": "state_processor",
}

_WIDTH, _BOX_HEIGHT, _FLOOR_HEIGHT, _GAP, _MARGIN, _TITLE = 1180, 46, 84, 14, 20, 34
_MOST_IN_ROW = 7

_STYLE = """
text{font-family:system-ui,sans-serif;font-size:13px;fill:#1b2733}
.small{font-size:10.5px;fill:#5a6b7b}.title{font-size:16px;font-weight:600}
.room{fill:#eef4fa;stroke:#7b97b3}.arrow{stroke:#7b97b3;stroke-opacity:.35;fill:none}
.sheet{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e4ebf2}.small{fill:#9fb1c3}.sheet{fill:#141a21}
.room{fill:#22303d;stroke:#5d7890}.arrow{stroke:#8fb0cf}}
"""


@dataclass(frozen=True, slots=True)
class Room:
    """A folder of a package, or a module that stands beside the folders.

    Attributes:
        name: Its name below the package.
        subject: What it says of itself in its first line.
    """

    name: str
    subject: str


@dataclass(frozen=True, slots=True)
class House:
    """A package: its rooms by floor, the highest first, and which of them import which.

    A floor of many rooms has several rows.
    """

    package: str
    floors: tuple[tuple[Room, ...], ...]
    imports: frozenset[tuple[str, str]]


def house(package: str) -> House:
    """The house of a package, as contracts and imports have it."""
    names = [name for floor in _floors(package) for name in floor]
    imports = set()
    for file in sorted((ROOT / SOURCES[package] / package).rglob("*.py")):
        parts = file.relative_to(ROOT / SOURCES[package]).with_suffix("").parts
        room = _room(".".join(parts), package, names)
        targets = {_room(module, package, names) for module in _imported(file.read_text("utf-8"))}
        imports |= {(room, other) for other in targets - {room, None} if room and other}
    floors = tuple(
        tuple(Room(name, _subject(package, name)) for name in row)
        for floor in _floors(package)
        for row in _rows(floor)
    )
    return House(package, floors, frozenset(imports))


def _rows(floor: list[str]) -> list[list[str]]:
    """The rooms of a floor in rows of about equal length, so that their subjects can be read."""
    count = -(-len(floor) // _MOST_IN_ROW)
    length = -(-len(floor) // count)
    return [floor[start : start + length] for start in range(0, len(floor), length)]


def _subject(package: str, name: str) -> str:
    """The first words of a room, up to where they are explained."""
    room = ROOT / SOURCES[package] / package / name
    file = room / "__init__.py" if room.is_dir() else room.with_suffix(".py")
    line = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]
    return re.split(r"[:,.(;]", line)[0].replace("`", "")


def _floors(package: str) -> list[list[str]]:
    """The floors of a package by its contract of layers."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract.get("containers") == [package]:
            return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
    raise KeyError(f"no contract of layers for {package}")


def _room(module: str, package: str, names: list[str]) -> str | None:
    """The room that a module stands in: the longest name that fits."""
    inside = module.removeprefix(package + ".")
    fitting = [name for name in names if inside == name or inside.startswith(name + ".")]
    return max(fitting, key=len, default=None)


def _imported(text: str) -> list[str]:
    """The modules that a module imports, for types too."""
    modules = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return modules


def picture() -> str:
    """The SVG of all packages, one below the other."""
    parts, top = [], _MARGIN
    for package in reversed(SOURCES):
        drawn = house(package)
        parts.append(_drawn(drawn, top))
        top += _TITLE + len(drawn.floors) * _FLOOR_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" role="img"'
        f' aria-label="The rooms of the packages">\n<style>{_STYLE}</style>\n'
        f'<rect class="sheet" width="{_WIDTH}" height="{top}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _drawn(drawn: House, top: int) -> str:
    places: dict[str, tuple[float, float, float]] = {}
    boxes = [f'<text class="title" x="{_MARGIN}" y="{top + 16}">{drawn.package}</text>']
    for number, floor in enumerate(drawn.floors):
        width = (_WIDTH - 2 * _MARGIN - _GAP * (len(floor) - 1)) / len(floor)
        width = min(width, 300)
        left = (_WIDTH - len(floor) * width - _GAP * (len(floor) - 1)) / 2
        y = top + _TITLE + number * _FLOOR_HEIGHT
        for index, room in enumerate(floor):
            x = left + index * (width + _GAP)
            places[room.name] = x + width / 2, y, width
            boxes.append(_box(room, x, y, width))
    arrows = [_arrow(places[start], places[end]) for start, end in sorted(drawn.imports)]
    return "\n".join([*arrows, *boxes])


def _box(room: Room, x: float, y: float, width: float) -> str:
    words = textwrap.shorten(room.subject, int(width // 5.6), placeholder="…")
    middle = x + width / 2
    return (
        f'<rect class="room" x="{x:.0f}" y="{y}" width="{width:.0f}" height="{_BOX_HEIGHT}" rx="6"/>'
        f'<text text-anchor="middle" x="{middle:.0f}" y="{y + 20}">{escape(room.name)}</text>'
        f'<text class="small" text-anchor="middle" x="{middle:.0f}" y="{y + 36}">{escape(words)}</text>'
    )


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    (x1, y1, _), (x2, y2, _) = start, end
    y1, y2 = y1 + _BOX_HEIGHT / 2, y2 + _BOX_HEIGHT / 2
    bend = (y1 + y2) / 2
    return f'<path class="arrow" d="M{x1:.0f} {y1:.0f}C{x1:.0f} {bend:.0f} {x2:.0f} {bend:.0f} {x2:.0f} {y2:.0f}"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
