"""Verdicts of compatibility as a test runner and a pull request show them: JUnit XML and Markdown.

Names come from savepoints, which a stranger may have written: in Markdown they are code, so they
mention no user and link nowhere.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from savepoint_extensions.upgrade.compatibility.rules import Finding, Verdict
from savepoint_formats.printable import printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

_ORDER = tuple(Verdict)
_MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class ReportCase:
    """A verdict: of a state, of an operator as a whole, or of the savepoint without names of both."""

    operator: str
    state: str
    verdict: Verdict
    findings: tuple[Finding, ...]


def junit_text(path: str, cases: Iterable[ReportCase]) -> str:
    """A test suite with a test case per verdict; one that is not ``restorable`` is a failure."""
    listed = list(cases)
    suite = ET.Element("testsuite", name=_shown(f"savepoint doctor {path}"))
    failures = sum(case.verdict is not Verdict.RESTORABLE for case in listed)
    suite.attrib |= {"tests": str(len(listed)), "failures": str(failures), "errors": "0"}
    for case in listed:
        name = case.state or ("(operator)" if case.operator else "(savepoint)")
        place = {"classname": _shown(case.operator or "savepoint"), "name": _shown(name)}
        element = ET.SubElement(suite, "testcase", place)
        text = "\n".join(_shown(_sentence(finding)) for finding in case.findings)
        if case.verdict is not Verdict.RESTORABLE:
            attributes = {"type": case.verdict.value, "message": _shown(_rules(case))}
            ET.SubElement(element, "failure", attributes).text = text
        elif text:
            ET.SubElement(element, "system-out").text = text
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _rules(case: ReportCase) -> str:
    return ", ".join(dict.fromkeys(finding.rule for finding in _failed(case)))


def _failed(case: ReportCase) -> list[Finding]:
    return [finding for finding in case.findings if finding.verdict is not Verdict.RESTORABLE]


def _sentence(finding: Finding) -> str:
    where = f" ({finding.where})" if finding.where else ""
    return f"{finding.verdict}: {finding.rule}{where}: {finding.reason}. Do: {finding.advice}"


def _shown(text: str) -> str:
    # XML has no characters such as U+FFFE, not even as references.
    safe = printable(without_secrets(text), keep="\n")
    return safe.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def markdown_text(path: str, job: str, verdict: Verdict, cases: Iterable[ReportCase]) -> str:
    """A comment: a heading with the verdict, a table of what stops the restore, then the conditions."""
    listed = sorted(cases, key=lambda case: _ORDER.index(case.verdict))
    failed = [(case, each) for case in listed for each in _failed(case)]
    failed.sort(key=lambda pair: _ORDER.index(pair[1].verdict))
    conditions = [
        (case, each)
        for case in listed
        for each in case.findings
        if each.verdict is Verdict.RESTORABLE
    ]
    counts = Counter(case.verdict.value for case in listed)
    counted = ", ".join(f"{count} {name}" for name, count in counts.items())
    by = f" by the job of {_code(job)}" if job else ""
    lines = [
        f"### State: {verdict}",
        "",
        f"{_code(path)} restored{by}: {counted or 'no state'}.",
        "",
    ]
    lines += _table(failed)
    if conditions:
        lines += [
            "<details><summary>Conditions</summary>",
            "",
            *_table(conditions),
            "</details>",
            "",
        ]
    return "\n".join(lines)


def _table(placed: list[tuple[ReportCase, Finding]]) -> list[str]:
    if not placed:
        return []
    rows = [
        f"| {_code(_place(case))} | {finding.verdict} | {finding.rule} {_code(finding.where)} |"
        f" {_cell(finding.reason)} | {_cell(finding.advice)} |"
        for case, finding in placed[:_MOST_ROWS]
    ]
    left_out = len(placed) - _MOST_ROWS
    more = [f"| … {left_out:,} more | | | | |"] if left_out > 0 else []
    return ["| state | verdict | rule | why | do |", "|---|---|---|---|---|", *rows, *more, ""]


def _place(case: ReportCase) -> str:
    return ".".join(filter(None, (case.operator, case.state)))


def _code(text: str) -> str:
    """The text as code in a cell of a table; nothing in it ends the code or the cell."""
    safe = printable(without_secrets(text), keep="").replace("`", "'").replace("|", "\\|")
    return f"`{safe}`" if safe else ""


def _cell(text: str) -> str:
    """A text of a rule in a cell."""
    return text.replace("|", "\\|").replace("<", "&lt;")
