"""SQL statements sent to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def statements_of(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets each statement which is sent from now on; all are run as before."""
    sent: list[str] = []
    send = type(spark).sql

    def watched(session: SparkSession, text: str, *more: Any) -> Any:
        sent.append(text)
        return send(session, text, *more)

    monkeypatch.setattr(type(spark), "sql", watched)
    return sent
