"""Secrets in URIs are never shown."""

from __future__ import annotations

import pytest

from savepoint_formats.errors import SavepointNotFoundError
from savepoint_formats.printable import html_table, without_secrets
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://AKIA:se+cret@jobs/sp-1", "s3://***:***@jobs/sp-1"),
        ("s3://jobs/a?secret_key=x&region=eu", "s3://jobs/a?secret_key=***&region=eu"),
        (
            "https://h/b?X-Amz-Signature=ab12&X-Amz-Date=3",
            "https://h/b?X-Amz-Signature=***&X-Amz-Date=3",
        ),
        ("abfss://box@account.dfs/a?sig=x%2B", "abfss://box@account.dfs/a?sig=***"),
        (
            "hdfs://user:pw@host:9000/x; in operator 'a'",
            "hdfs://***:***@host:9000/x; in operator 'a'",
        ),
    ],
)
def test_a_secret_is_three_stars(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "s3://jobs/sp-1",
        "/tmp/a:b@c",
        "state 'k=v', key=3",
        "abfss://box@account/a",
        "hdfs://host:90/a@b",
    ],
)
def test_what_has_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_errors_warnings_and_tables_show_none() -> None:
    uri = "s3://AKIA:secret@jobs/sp-1?session_token=abc"
    shown = (
        str(SavepointNotFoundError(f"{uri} does not exist")),
        str(SavepointNotFoundError("nothing there").within(uri)),
        str(NewestSnapshotWarning(f"{uri} is read")),
        html_table(uri, ("a",), ()),
    )
    assert not [text for text in shown if "secret" in text or "abc" in text]
