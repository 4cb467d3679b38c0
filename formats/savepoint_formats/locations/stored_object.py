"""Reads ranges of an S3 object without asking for its size first.

pyarrow asks for the size of each file that it opens: a request, and a wait, before the first byte. The
answer to a range has the size too, so the first wanted range is requested at once.

| request               | answer                                                                  |
|-----------------------|-------------------------------------------------------------------------|
| GET, Range            | bytes, size of the object, tag of its content                           |
| the next ones         | also have ``If-Match``: refused (412) if the object is another one      |
| GET beyond the end    | refused (416); then HEAD returns the size                               |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from savepoint_formats.errors import FileReplacedError
from savepoint_formats.locations.stores import client_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.locations.location import Location

    _Answer = dict[str, Any] | None

MAX_KEPT_SIZE = 64 << 10
"""Bytes of an object that stay in memory for free, since a thousand may be open."""

MAX_KEPT_IN_ALL = 64 << 20
"""Bytes of all objects that keep more than that, such as the indexes at the ends of tables."""

# The client repeats failed requests, but doesn't read an answer again.
_TRIES = 3


@dataclass(slots=True, weakref_slot=True, eq=False)
class StoredObject:
    """An object as it was at the first request; threads may share it.

    Methods raise ``FileNotFoundError``, ``FileReplacedError`` if the object has become another one,
    or ``OSError``. ``first`` is the range of the first request, if it is known.
    """

    client: Any
    bucket: str
    key: str
    first: tuple[int, int] | None = None
    _size: int | None = None
    _tag: str | None = None
    _start: int = 0
    _ready: bytes = b""
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def at(cls, location: Location, first: tuple[int, int] | None = None) -> Self | None:
        """The object at a location; None if only pyarrow reaches it."""
        bucket, _, key = location.path.partition("/")
        client = client_of(location.filesystem) if key else None
        return None if client is None else cls(client, bucket, key, first)

    def size(self) -> int:
        """The number of bytes."""
        with self._lock:
            return self._known_size()

    def read(self, start: int, end: int | None) -> bytes:
        """The bytes between two positions, or as many as there are; to the end if ``end`` is None."""
        with self._lock:
            if self._size is None and self.first is None and end is not None and start < end:
                return self._get(start, end)
            size = self._known_size()
            end = size if end is None else min(end, size)
            start = min(start, end)
            ready_end = self._start + len(self._ready)
            is_ready = self._start <= start < ready_end
            head = self._ready[start - self._start : end - self._start] if is_ready else b""
        start += len(head)
        return head + self._get(start, end) if start < end else head

    @property
    def kept_size(self) -> int:
        """The number of bytes in memory."""
        return len(self._ready)

    def forget(self) -> None:
        """Drops the bytes of the first request."""
        self._ready = b""

    def _known_size(self) -> int:
        if self._size is None and self.first is not None:
            self._start, end = self.first
            self._ready = self._get(self._start, end)
            _keep(self)
        if self._size is None:
            self._learn(self._asked(self.client.head_object, 0))
        return self._size or 0

    def _get(self, start: int, end: int, tries: int = _TRIES) -> bytes:
        answer = self._asked(self.client.get_object, start, Range=f"bytes={start}-{end - 1}")
        if answer is None:
            self._learn(self._asked(self.client.head_object, 0))
            return b""
        self._learn(answer)
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415  # an extra

        try:
            with answer["Body"] as body:
                data: bytes = body.read()
        except BotoCoreError as error:
            if tries > 1:
                return self._get(start, end, tries - 1)
            raise OSError(str(error)) from error
        # A store without ranges sends the whole object.
        return data if answer.get("ContentRange") else data[start:end]

    def _learn(self, answer: dict[str, Any] | None) -> None:
        if answer is not None:
            total = answer.get("ContentRange", "").rpartition("/")[2]
            self._size = int(total) if total.isdecimal() else answer["ContentLength"]
            self._tag = answer.get("ETag")

    def _asked(self, ask: Callable[..., dict[str, Any]], start: int, **options: str) -> _Answer:
        """The answer of the store; None if a range begins beyond the end."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # an extra

        if self._tag is not None:
            options["IfMatch"] = self._tag
        try:
            return ask(Bucket=self.bucket, Key=self.key, **options)
        except ClientError as error:
            path = f"{self.bucket}/{self.key}"
            match error.response.get("ResponseMetadata", {}).get("HTTPStatusCode"):
                case 404:
                    raise FileNotFoundError(path) from error
                case 412:
                    message = "it was replaced while it was read; open the savepoint anew"
                    raise FileReplacedError(message, path, start) from error
                case 416:
                    return None
            raise OSError(str(error)) from error
        except BotoCoreError as error:
            raise OSError(str(error)) from error


# Objects that keep more than ``MAX_KEPT_SIZE``, the oldest first.
_keeping: list[ref[StoredObject]] = []
_changing = Lock()


def _keep(stored: StoredObject) -> None:
    """Lets an object keep its first bytes, and drops those of the oldest objects beyond the limit."""
    if stored.kept_size <= MAX_KEPT_SIZE:
        return
    with _changing:
        alive = [each for reference in _keeping if (each := reference()) is not None]
        alive.append(stored)
        while sum(each.kept_size for each in alive) > MAX_KEPT_IN_ALL:
            alive.pop(0).forget()
        _keeping[:] = map(ref, alive)
