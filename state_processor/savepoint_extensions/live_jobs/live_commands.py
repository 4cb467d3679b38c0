"""The command about the jobs of a running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import state_processor
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal import command, output_option

if TYPE_CHECKING:
    from savepoint_cli.terminal import Output


@command("jobs")
@click.argument("cluster")
@output_option
def live_jobs(output: Output, cluster: str) -> None:
    """List the jobs of a running CLUSTER with their checkpoints and savepoints, the newest first.

    CLUSTER is flink://host:8081, or flink://host:8081/JOB for one job by its id or name; flinks://
    is HTTPS. As the PATH of a command, flink://host:8081/JOB stands for the job's newest snapshot.
    Set a token in FLINK_REST_TOKEN, authorities in FLINK_REST_CA, and a certificate in
    FLINK_REST_CERT and FLINK_REST_KEY. Nothing is triggered, cancelled or deleted.

    \b
    savepoint jobs flink://jobmanager:8081
    """
    with usage_errors():
        rows = state_processor.live_snapshots(cluster)
    output.rows(f"Jobs of {cluster}", rows)
