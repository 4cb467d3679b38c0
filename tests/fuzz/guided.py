"""All targets, guided by coverage: ``python -m fuzz.guided metadata -max_total_time=60``.

Atheris (the extra ``fuzz``) notes which lines and branches of the package an input runs through, and
keeps inputs that run through new ones. What stands behind the target is for its libFuzzer. Machine
code can't be watched: targets whose work is done by kernels gain nothing here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from fuzz.target import Seed, Target

_KERNELS = [
    "savepoint_formats.program.kernel",
    *(
        f"savepoint_formats.state_files.rocksdb.{name}_kernel"
        for name in ("checksum", "merge", "sst")
    ),
]


def main() -> None:
    """Tries a target until libFuzzer ends, or an input breaks a promise, which it keeps."""
    name, *arguments = sys.argv[1:]
    with atheris.instrument_imports(
        include=["savepoint_formats", "savepoint_database", "savepoint_spark"], exclude=_KERNELS
    ):
        from fuzz.samples import Inputs  # noqa: PLC0415
        from fuzz.targets import TARGETS  # noqa: PLC0415

        target = TARGETS[name](Inputs.all())
    with TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds):
            place = number.to_bytes(2, "big")
            Path(folder, str(number)).write_bytes(place + seed.data)
        atheris.Setup([sys.argv[0], *arguments, folder], _Reader(target))
        atheris.Fuzz()


class _Reader:
    """Reads an input, in front of which two bytes tell whose context it has."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __call__(self, data: bytes) -> None:
        from fuzz.promises import is_broken, outcome  # noqa: PLC0415

        seed: Seed = self._target.seeds[int.from_bytes(data[:2], "big") % len(self._target.seeds)]
        raised = outcome(lambda read: self._target.read(read, seed.context), data[2:])
        if raised is not None and is_broken(raised):
            raise raised


if __name__ == "__main__":
    main()
