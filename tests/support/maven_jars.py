"""Jars of Maven Central, which Maven fetches once."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from flink_home import CACHE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

POM = """\
<project><modelVersion>4.0.0</modelVersion>
<groupId>jars</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


def fetched(
    name: str,
    wanted: Mapping[str, str],
    *,
    is_alone: bool = False,
    group: str = "org.apache.flink",
) -> Path:
    """A folder with jars of Flink, or of another group.

    Args:
        name: Of the folder.
        wanted: Artifact -> version.
        is_alone: Without what these need themselves.
        group: The group of all artifacts.
    """
    folder = CACHE / name
    if not all(list(folder.glob(f"{artifact}-{wanted[artifact]}.jar")) for artifact in wanted):
        folder.mkdir(parents=True, exist_ok=True)
        pom = folder / "pom.xml"
        dependencies = (DEPENDENCY.format(group, *coordinates) for coordinates in wanted.items())
        pom.write_text(POM.format("".join(dependencies)))
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        options = [f"-DoutputDirectory={folder}", f"-DexcludeTransitive={str(is_alone).lower()}"]
        subprocess.run([*command, *options], check=True)
    return folder
