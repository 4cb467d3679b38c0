"""Plots of state sizes, as SVG in the colours of their page.

Matplotlib knows colours only by value. Each colour is therefore drawn as a unique value, which a
variable of the page's style then replaces, so that the page may be light or dark.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from savepoint_formats.extras import imported
from savepoint_formats.printable import printable
from savepoint_formats.quantities import ByteCount, Share
from savepoint_formats.shared_names import without_shared

if TYPE_CHECKING:
    from savepoint_extensions.sizes.statistics import SavepointStatistics, TimerStatistics

_INK, _FAINT, _FIRST, _SECOND = "#010203", "#040506", "#070809", "#0a0b0c"
_VARIABLES = {
    _INK: "var(--ink)",
    _FAINT: "var(--faint)",
    _FIRST: "var(--first)",
    _SECOND: "var(--second)",
}
_HASH = re.compile(r"^([0-9a-f]{8})[0-9a-f]{24}(?=\.|$)")
_MOST_BARS = 10
_WIDTH, _ROW = 11.0, 0.3


def plots(report: SavepointStatistics) -> list[tuple[str, str]]:
    """Titles and SVGs of the plots that have data; ``MissingPackageError`` without Matplotlib."""
    # Matplotlib reads a file "matplotlibrc" of the current directory, which may be a stranger's: it
    # can start LaTeX.
    with imported("matplotlib.style").context("default"):
        return _plots(report)


def _plots(report: SavepointStatistics) -> list[tuple[str, str]]:
    states = [(f"{state.operator}.{state.state}", state.size) for state in report.states]
    charts = [
        ("Bytes by operator", _operators(report)),
        ("Bytes by state", _bars("states", states)),
    ]
    charts += [
        (f"Timers of {_name(timers)}", _timers(timers, report.at)) for timers in report.timers
    ]
    for operator in dict.fromkeys(group.operator for group in report.key_groups):
        charts.append((f"Key groups of {operator}", _key_groups(report, operator)))
    return [(title, svg) for title, svg in charts if svg]


def _name(timers: TimerStatistics) -> str:
    return f"{timers.operator}: {timers.service}, {timers.time_domain}"


def _operators(report: SavepointStatistics) -> str:
    """Bars of the operators with the most bytes, if there are several."""
    sizes: Counter[str] = Counter()
    for state in report.states:
        sizes[state.operator] += state.size
    return _bars("operators", list(sizes.items())) if len(sizes) > 1 else ""


def _bars(name: str, sizes: list[tuple[str, int]]) -> str:
    largest = sorted((bar for bar in sizes if bar[1]), key=lambda bar: -bar[1])[:_MOST_BARS]
    if not largest:
        return ""
    figure, axes = _figure(name, height=0.8 + _ROW * len(largest))
    positions = range(len(largest), 0, -1)
    bars = axes.barh(positions, [size for _, size in largest], color=_FIRST)
    total = sum(size for _, size in sizes) or 1
    labels = [f"{ByteCount(size).text}, {Share(size / total).text}" for _, size in largest]
    axes.bar_label(bars, labels, padding=4, color=_INK, fontsize=9)
    axes.margins(x=0.15)
    # Only the names of states have an operator in front.
    column = "operator" if name == "operators" else "table"
    shown, _ = without_shared(column, [label for label, _ in largest], [bar for bar, _ in sizes])
    axes.set_yticks(positions, [_short(label) for label in shown], parse_math=False)
    axes.set_xlabel("bytes of keys and values")
    axes.xaxis.set_major_formatter(_byte_format())
    return _svg(figure, name)


def _timers(timers: TimerStatistics, at: str) -> str:
    """Number of timers per time, overdue ones marked."""
    if not timers.spans:
        return ""
    figure, axes = _figure(f"timers {_name(timers)}")
    counts = [span.timers for span in timers.spans]
    has_clock = timers.overdue is not None
    is_overdue = (has_clock and _is_before(span.start, at) for span in timers.spans)
    colours = [_SECOND if overdue else _FIRST for overdue in is_overdue]
    axes.bar(range(len(counts)), counts, width=1.0, color=colours)
    shown = sorted({0, len(counts) // 2, len(counts) - 1})
    axes.set_xticks(shown, [timers.spans[index].start for index in shown])
    axes.set_ylabel("timers")
    axes.yaxis.get_major_locator().set_params(integer=True)
    return _svg(figure, f"timers {_name(timers)}")


def _key_groups(report: SavepointStatistics, operator: str) -> str:
    own = [group for group in report.key_groups if group.operator == operator]
    figure, axes = _figure(f"key groups {operator}")
    groups = [group.key_group for group in own]
    axes.bar(groups, [group.size for group in own], width=1.0, color=_FIRST)
    axes.set_xlabel("key group")
    axes.set_ylabel("bytes")
    axes.yaxis.set_major_formatter(_byte_format())
    keys = axes.twinx()
    keys.plot(groups, [group.keys for group in own], ".", color=_SECOND)
    keys.set_ylabel("keys")
    keys.set_ylim(bottom=0)
    keys.yaxis.get_major_locator().set_params(integer=True)
    _plain(keys)
    keys.yaxis.label.set_color(_SECOND)
    return _svg(figure, f"key groups {operator}")


def _is_before(time: str, other: str) -> bool:
    """Whether a time is not later; years beyond four digits have a sign in front."""
    return not time.startswith("+") and (time.startswith("-") or time <= other)


def _short(text: str) -> str:
    shown = _HASH.sub(r"\1", printable(text))
    return shown if len(shown) <= 40 else f"{shown[:20]}…{shown[-19:]}"


def _matplotlib() -> Any:
    imported("matplotlib.figure")
    return imported("matplotlib")


def _byte_format() -> Any:
    import matplotlib.ticker  # noqa: PLC0415  # of the extra "report"

    return matplotlib.ticker.FuncFormatter(lambda size, _place: ByteCount(round(size)).text)


def _figure(name: str, height: float = 2.4) -> tuple[Any, Any]:
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_settings(name)):
        figure = matplotlib.figure.Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
    figure.patch.set_alpha(0)
    _plain(axes)
    return figure, axes


def _plain(axes: Any) -> None:
    axes.patch.set_alpha(0)
    axes.tick_params(colors=_INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_color(_FAINT)
        spine.set_visible(side in ("bottom", "left"))
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(_INK)


def _settings(name: str) -> Any:
    # Plots on one page must not share ids.
    return {"svg.fonttype": "none", "svg.hashsalt": name}


def _svg(figure: Any, name: str) -> str:
    content = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with _matplotlib().rc_context(_settings(name)):
        figure.savefig(content, format="svg", metadata=nothing)
    text = content.getvalue()
    text = text[text.index("<svg") :]
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text
