"""A real Flink that restores savepoints."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.flink_restore import FlinkRestore

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def quick_java() -> Iterator[None]:
    """Java that compiles code once: its jobs last for seconds, too few for the second compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture(scope="session")
def flink_restore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkRestore]:
    """Restores a savepoint and says what Flink sees in it; a JVM per release serves all tests."""
    with closing(FlinkRestore(tmp_path_factory.mktemp("restore"))) as restore:
        yield restore
