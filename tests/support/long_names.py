"""The savepoint of a job with forty operators, whose long uids differ only in the middle."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import CheckpointMetadata
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

LONG = "com.acme.payments.risk.streaming.{}-v2--region-eu-west-1"
NAMES = tuple(
    f"{subject}-{work}"
    for subject in (
        "customer",
        "merchant",
        "card",
        "account",
        "device",
        "transfer",
        "refund",
        "loan",
    )
    for work in ("profile-enricher", "velocity-counter", "deduplicator", "session-window", "scorer")
)
"""What differs in the uids of forty operators."""


def job_of_long_names(folder: Path) -> Path:
    """A savepoint of forty operators: the first has many states, the others two small ones each."""
    savepoint = folder / "savepoint-of-long-names"
    savepoint.mkdir()
    samples = [SAMPLES / f"{name}-2.2.1-hashmap-canonical" for name in ("states", "currency")]
    operators = []
    for sample, uid in zip(samples, ("stateful", "summarize"), strict=True):
        metadata = CheckpointMetadata.read(DataInputView((sample / "_metadata").read_bytes()))
        operators += [operator for operator in metadata.operators if operator.uid == uid]
        for file in sample.iterdir():
            if file.name not in ("_metadata", "expected.json"):
                shutil.copy(file, savepoint)
    large, small = operators
    renamed = [
        replace(
            large if place == 0 else small, operator_id=OperatorId.from_uid(uid), uid=uid, name=uid
        )
        for place, uid in enumerate(map(LONG.format, NAMES))
    ]
    view = DataOutputView()
    replace(metadata, operators=tuple(renamed)).write(view)
    (savepoint / "_metadata").write_bytes(view.to_bytes())
    return savepoint
