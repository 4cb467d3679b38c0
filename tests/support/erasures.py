"""Erasure of a value by commands: ``find``, then ``delete-keys`` with a certificate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.commands import run

if TYPE_CHECKING:
    from pathlib import Path


def erased(
    savepoint: str | Path, out: Path, value: str, *more: str
) -> tuple[int, dict[str, Any], str]:
    """Exit code, certificate and output of an erasure."""
    found, certificate = out.with_suffix(".found"), out.with_suffix(".json")
    run("find", savepoint, value, "--save", found)
    arguments: tuple[str | Path, ...] = ("--found", found, "--certificate", certificate, *more)
    code, output = run("delete-keys", savepoint, out, *arguments)
    return code, json.loads(certificate.read_text(encoding="utf-8")), output
