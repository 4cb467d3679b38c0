"""Asks serializers of connectors, see ``Versions.java``."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

from flink_home import FlinkHome

from support.java_jobs import JOBS

if TYPE_CHECKING:
    from pathlib import Path


def answers_of(flink: str, jars: tuple[Path, ...], asked: list[str], folder: Path) -> list[str]:
    """The answers of serializers, see ``Versions.java``."""
    home = FlinkHome.cached(flink)
    home.install()
    home = replace(home, more=jars)
    command = home.java(home.compiled([JOBS / "connector_versions"]), [])
    answers = subprocess.run(
        [*command, "versions.Versions"],
        input="".join(f"{line}\n" for line in asked),
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return answers.stdout.splitlines()
