"""Requests: each request of a write to an object store is struck in turn, and nothing may be lost.

The store is one of this machine. What it has is copied to a disk after each write and looked at there.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from faults.commands import SUMS
from faults.points import Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.s3_server import S3Server
    from support.striking_proxy import StrikingProxy

    from faults.ways import Place

_DAYS = 2 * 24 * 3600

# Nobody can clean up who is dead, or whose store is gone.
_ENDS = frozenset({"killed", "lost", "down"})


class Requests(Points):
    """A driver whose requests are struck.

    Args:
        folder: Where all of it lies that is not in the store.
        master: As Spark has it; empty for commands without Spark.
        server: The store.
        proxy: What the driver asks in its place.
        bucket: Name of the bucket, which is made: two may share a store.
    """

    def __init__(
        self,
        folder: Path,
        master: str,
        server: S3Server,
        proxy: StrikingProxy,
        bucket: str = "faults",
    ) -> None:
        self._server, self._proxy, self._action = server, proxy, ""
        self._sources: dict[str, dict[str, str]] = {}
        self._bucket = server.bucket(bucket)
        super().__init__(folder, master)

    def _arm(self, place: Place, point: int = 0, action: str = "") -> None:
        for path in (place.source, place.target):
            self._put(Path(path))
        self._sources.setdefault(place.source, self._digests(Path(place.source)))
        self._action = action
        self._proxy.arm(point - 1, action)

    def _disarm(self) -> tuple[int, str]:
        requests, point = list(self._proxy.requests), self._proxy.point
        self._proxy.arm()
        return len(requests), requests[point] if 0 <= point < len(requests) else ""

    def _write(self, name: str, mode: str, place: Place) -> tuple[str, str]:
        if mode == "here":
            # A client of a store does not live on in processes that are forked off.
            return super()._write(name, mode, place)
        source, target = map(self._uri, (place.source, place.target))
        end = super()._write(name, mode, replace(place, source=source, target=target))
        self._get(Path(place.target))
        return end

    def _found(self, place: Place, call: str, found: Sequence[str]) -> Sequence[str]:
        faults = [fault for fault in found if self._action not in _ENDS or "left over" not in fault]
        # A file stays that the store does not let go.
        name = call.partition("?")[0].rpartition("/")[2]
        faults = [fault for fault in faults if fault != f"left over: ['{name}']"]
        uploads = self._server.client.list_multipart_uploads(Bucket=self._bucket).get("Uploads", [])
        for upload in uploads:
            self._server.client.abort_multipart_upload(
                Bucket=self._bucket, Key=upload["Key"], UploadId=upload["UploadId"]
            )
        if self._digests(Path(place.source)) != self._sources[place.source]:
            faults.append("the source is another one")
        # An upload that was begun twice has one end; pyarrow does not end one that is refused.
        is_begun = call.startswith("POST") and call.endswith("?uploads")
        if uploads and self._action not in {*_ENDS, "denied"} and not is_begun:
            faults.append(f"left over: {len(uploads)} uploads, of {uploads[0]['Key']}")
        return faults

    def _write_again(self, name: str, place: Place) -> tuple[str, str]:
        # A write that died has a claim until its sign is old, and an export until its file is.
        for key in self._digests(Path(place.target)):
            if "/write-" in key or "/." in key:
                self._server.age(self._bucket, key, _DAYS)
        return super()._write_again(name, place)

    def _place(self, name: str) -> Place:
        place = super()._place(name)
        alone = self._folder / f"{SUMS}-of-{Path(place.source).name}"
        # The only operator of a savepoint can't be removed.
        is_enough = alone.exists() and not name.startswith("remove-operator")
        return replace(place, source=str(alone)) if is_enough else place

    def _remove(self, place: Place) -> None:
        for key in self._digests(Path(place.target)):
            self._server.client.delete_object(Bucket=self._bucket, Key=key)
        super()._remove(place)

    def _uri(self, path: str) -> str:
        return self._server.uri(self._bucket, self._key(Path(path))).replace(
            self._proxy.store, self._proxy.address
        )

    def _key(self, path: Path) -> str:
        """The key that stands for a directory."""
        return f"{path.parent.name}/{path.name}"

    def _digests(self, folder: Path) -> dict[str, str]:
        """Keys of all objects of a directory, and digests of their contents."""
        prefix = f"{self._key(folder)}/"
        listing = self._server.client.list_objects_v2(Bucket=self._bucket, Prefix=prefix)
        objects = listing.get("Contents", [])
        # Some stand for directories.
        return {one["Key"]: one["ETag"] for one in objects if not one["Key"].endswith("/")}

    def _put(self, folder: Path) -> None:
        """Copies a directory to the store, unless it is there."""
        if folder.is_dir() and not self._digests(folder):
            for file in folder.iterdir():
                self._server.put(
                    self._bucket, f"{self._key(folder)}/{file.name}", file.read_bytes()
                )

    def _get(self, folder: Path) -> None:
        """Copies a directory from the store."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for key in self._digests(folder):
            stored = self._server.client.get_object(Bucket=self._bucket, Key=key)
            (folder / Path(key).name).write_bytes(stored["Body"].read())
