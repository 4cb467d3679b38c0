"""What registries and readers need to know of built files.

    PROJECT_URL=https://github.com/OWNER/REPOSITORY python .ci/list_release.py dist

It writes below dist/listings ``server.json`` for the registry of MCP servers, a formula for a tap of
Homebrew, and ``notes.md`` out of the changelog.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path

from tag_release import CHANGELOGS, notes

NAME = "savepoint-state-processor"
DESCRIPTION = "Read, query and audit the state of Apache Flink jobs: savepoints and checkpoints."
"""The registry of MCP servers takes at most 100 characters."""

_FORMULA = """\
class SavepointStateProcessor < Formula
  desc "Read, query, audit and change the state of Apache Flink jobs"
  homepage "{url}"
  url "{url}/releases/download/v{version}/{archive}"
  sha256 "{sha256}"
  license "Apache-2.0"

  depends_on "python@3.13"

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-m", "venv", libexec
    pip = [libexec/"bin/python", "-m", "pip", "install", "--quiet"]
    %w[build light].each do |lock|
      system(*pip, "--require-hashes", "--requirement", ".ci/requirements/#{{lock}}.txt")
    end
    system(*pip, "--no-deps", "--no-build-isolation", ".")
    bin.install_symlink libexec/"bin/savepoint"
  end

  test do
    system bin/"savepoint", "demo", testpath/"demo"
  end
end
"""


def main(folder: Path, url: str) -> None:
    """Writes the listings of the one source archive in ``folder``."""
    place = re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+?)/?", url)
    if place is None:
        raise SystemExit(f"PROJECT_URL is {url!r}, expected https://github.com/OWNER/REPOSITORY")
    (archive,) = folder.glob("*.tar.gz")
    version = archive.name.removesuffix(".tar.gz").rpartition("-")[2]
    listings = folder / "listings"
    listings.mkdir(exist_ok=True)
    server = json.dumps(server_of(version, *place.groups()), indent=2) + "\n"
    (listings / "server.json").write_text(server, encoding="utf-8")
    formula = _FORMULA.format(
        url=url.rstrip("/"),
        version=version,
        archive=archive.name,
        sha256=hashlib.sha256(archive.read_bytes()).hexdigest(),
    )
    (listings / f"{NAME}.rb").write_text(formula, encoding="utf-8")
    changelog = (Path(__file__).parents[1] / CHANGELOGS[0]).read_text(encoding="utf-8")
    (listings / "notes.md").write_text(notes(changelog, version), encoding="utf-8")


def server_of(version: str, owner: str, repository: str) -> dict[str, object]:
    """The entry of the registry; its name stands in the README of the package, too."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"io.github.{owner}/{repository}",
        "title": "Savepoint State Processor",
        "description": DESCRIPTION,
        "version": version,
        "repository": {"url": f"https://github.com/{owner}/{repository}", "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": NAME,
                "version": version,
                "runtimeHint": "uvx",
                # The protocol's library is an extra of the package.
                "runtimeArguments": [
                    {"type": "named", "name": "--from", "value": f"{NAME}[mcp]=={version}"}
                ],
                "packageArguments": [
                    {"type": "positional", "value": "mcp"},
                    {
                        "type": "positional",
                        "valueHint": "path",
                        "description": "A savepoint, a checkpoint, or flink://host:8081/JOB.",
                        "isRequired": True,
                        "isRepeated": True,
                    },
                ],
                "transport": {"type": "stdio"},
            }
        ],
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), os.environ.get("PROJECT_URL", ""))
