"""What a build adds: links that work elsewhere, and manual pages if there are any."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


class Links(MetadataHookInterface):
    """Completes the links of the README by ``PROJECT_URL``, the repository that releases the package.

    ``PROJECT_REF`` is the branch or tag that they lead to. Without an address, links stay relative.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets the readme and the addresses of the project."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        if url := os.environ.get("PROJECT_URL", "").rstrip("/"):
            tree = f"{url}/blob/{os.environ.get('PROJECT_REF') or 'main'}"
            text = RELATIVE_LINK.sub(rf"]({tree}/\1)", text)
            metadata["urls"] = {
                "Homepage": url,
                "Documentation": f"{tree}/docs/index.md",
                "Changelog": f"{tree}/docs/changelog.md",
                "Issues": f"{url}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Share(BuildHookInterface):
    """Takes what ``docs/generate_man.py build/share`` wrote into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatch's
        """Adds the folder, where there is one."""
        if Path(self.root, "build", "share").is_dir():
            build_data["shared_data"]["build/share"] = "share"
