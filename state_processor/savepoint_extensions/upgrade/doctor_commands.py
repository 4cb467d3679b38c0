"""The command that predicts whether another Flink, or a new job, restores a savepoint, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import options
from savepoint_cli.opening import usage_errors
from savepoint_extensions.upgrade.compatibility.operator_rules import BACKENDS
from savepoint_formats.metadata import TARGETS, release_text

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output

NOT_RESTORABLE = 3
_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


@options.inspection()
@click.option(
    "--target",
    default="",
    metavar="RELEASE",
    help=f"The Flink release that restores it: {', '.join(map(release_text, TARGETS))}. With"
    " --job, the default is the newest release that may have written both.",
)
@click.option(
    "--job",
    metavar="EXPECTED",
    help="The new job that restores it: its savepoint or checkpoint, or the output of savepoint"
    " schema PATH --output json for one.",
)
@click.option(
    "--from",
    "written_by",
    default="",
    metavar="RELEASE",
    help="The Flink release that wrote it, if several are possible; all of them by default.",
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=None,
    help="The state backend of the job that restores it.",
)
@click.option(
    "--connector",
    "connectors",
    multiple=True,
    metavar="NAME=RELEASE",
    callback=options.pairs("NAME=RELEASE, such as kafka=5.0.0"),
    help="The release of a connector in the new job, such as kafka=5.0.0: whether it reads the versions"
    " of its state. Repeatable.",
)
@click.option("--all-values", is_flag=True, help="Search all values, not only the first 256 MiB.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write the verdicts as JUnit XML, too.")
@click.option(
    "--markdown", type=_FILE, metavar="FILE", help="Write a comment for a pull request, too."
)
def doctor(
    output: Output, opening: Opening, junit: Path | None, markdown: Path | None, **asked: Any
) -> None:
    """Tell whether Flink RELEASE, or a new job, restores each state of the savepoint at PATH.

    --job compares operators, states, kinds, types and settings with the new job's, and says what to
    do about each difference. EXPECTED needs no values: run the new job once, in a test.

    The worst verdict is "silent corruption": Flink may restore wrong values without noticing. Then
    come "not restorable", "restorable after migration" if the savepoint can be rewritten, and
    "unknown" if the savepoint has too little information. Each finding has a reason, advice and a
    source. The command reads headers, and searches the first 256 MiB of values that Kryo wrote,
    and of POJOs from Flink 1 to 2. Exit codes: 0 all is restorable, 3 not all is, 1 it can't be read.

    \b
    savepoint doctor s3://jobs/orders/savepoint-1a2b --target 2.2 --backend rocksdb
    savepoint doctor s3://jobs/orders/savepoint-1a2b --job state/orders.json --markdown comment.md
    """
    if not asked["target"] and asked["job"] is None:
        raise click.UsageError("name a release with --target, or a job with --job")
    savepoint = opening.open()
    with usage_errors():
        compatibility = savepoint.compatibility(**asked | {"backend": asked["backend"] or ""})
    if junit is not None:
        junit.write_text(compatibility.to_junit(), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(compatibility.to_markdown(), encoding="utf-8")
    rules = compatibility.rule_lines()
    if output.explains:
        output.page(
            compatibility,
            ("States", compatibility.state_rows()),
            digest=[("Operators", compatibility.operator_rows())],
        )
        for rule in rules:
            output.explain(rule.title, rule.lines())
        # Below what may be pages of rules, the last line is the answer.
        output.explain(f"verdict: {compatibility.verdict}", ())
    else:
        output.page(compatibility, ("States", compatibility.state_rows()), ("Rules", rules))
    if not compatibility.is_restorable:
        click.get_current_context().exit(NOT_RESTORABLE)
