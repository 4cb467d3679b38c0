"""An object of an S3 store, read by ranges; nobody asks how long it is before its bytes are asked for.

pyarrow asks for the size of each file that it opens: a request, and a wait, before the first byte. The
answer to a range says the size as well. So who knows which bytes are wanted asks for those first.

| request           | answer                                                                      |
|-------------------|-----------------------------------------------------------------------------|
| GET, Range        | bytes, size of the object, tag of its content                               |
| the next ones     | the same with ``If-Match``: refused (412) once the object is another        |
| a range behind it | refused (416); then HEAD tells the size                                     |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from savepoint_formats.errors import FileReplacedError
from savepoint_formats.locations.s3_client import client_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.locations.location import Location

    _Answer = dict[str, Any] | None

MAX_KEPT_SIZE = 64 << 10
"""Of an object; there may be a thousand of them."""

MAX_KEPT_IN_ALL = 64 << 20
"""Of all objects of which more is kept: the ends of tables have their indexes."""

# The client tries again to get an answer, but not to read it to its end.
_TRIES = 3


@dataclass(slots=True, weakref_slot=True, eq=False)
class StoredObject:
    """An object, as it was when it was first asked for; threads may share it.

    Attributes:
        client: What asks the store.
        bucket: Its bucket.
        key: Its name there.
        first: Which bytes are asked for first, if any are known to be wanted.
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
        """The object at a location; None if pyarrow alone reaches it."""
        bucket, _, key = location.path.partition("/")
        client = client_of(location.filesystem) if key else None
        return None if client is None else cls(client, bucket, key, first)

    def size(self) -> int:
        """Its bytes.

        Raises:
            FileNotFoundError: There is no such object.
            FileReplacedError: It has become another one.
            OSError: The store refuses, or does not answer.
        """
        with self._lock:
            return self._known_size()

    def read(self, start: int, end: int | None) -> bytes:
        """The bytes between two positions, or as many as there are; to its end by default.

        Raises:
            FileNotFoundError: There is no such object.
            FileReplacedError: It has become another one.
            OSError: The store refuses, or does not answer.
        """
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
        """How many of its bytes are at hand."""
        return len(self._ready)

    def forget(self) -> None:
        """Forgets the bytes that were asked for first."""
        self._ready = b""

    def _known_size(self) -> int:
        if self._size is None and self.first is not None:
            self._start, end = self.first
            self._ready = self._get(self._start, end)
            _kept.add(self)
        if self._size is None:
            self._learn(self._asked(self.client.head_object, 0))
        return self._size or 0

    def _get(self, start: int, end: int, tries: int = _TRIES) -> bytes:
        """The bytes between two positions, or as many as there are."""
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
        # A store that knows no ranges gives the whole object.
        return data if answer.get("ContentRange") else data[start:end]

    def _learn(self, answer: dict[str, Any] | None) -> None:
        """Takes the size and the tag out of an answer."""
        if answer is not None:
            total = answer.get("ContentRange", "").rpartition("/")[2]
            self._size = int(total) if total.isdecimal() else answer["ContentLength"]
            self._tag = answer.get("ETag")

    def _asked(self, ask: Callable[..., dict[str, Any]], start: int, **options: str) -> _Answer:
        """The answer of the store; None where a range begins behind the end."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # an extra

        if self._tag is not None:
            options["IfMatch"] = self._tag
        try:
            return ask(Bucket=self.bucket, Key=self.key, **options)
        except ClientError as error:
            path = f"{self.bucket}/{self.key}"
            match error.response.get("ResponseMetadata", {}).get("HTTPStatusCode"):
                case HTTPStatus.NOT_FOUND:
                    raise FileNotFoundError(path) from error
                case HTTPStatus.PRECONDITION_FAILED:
                    message = "it was replaced while it was read; open the savepoint anew"
                    raise FileReplacedError(message, path, start) from error
                case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    return None
            raise OSError(str(error)) from error
        except BotoCoreError as error:
            raise OSError(str(error)) from error


class _Kept:
    """The objects whose first bytes are kept for who reads them again; few bytes need no account."""

    def __init__(self) -> None:
        self._objects: list[ref[StoredObject]] = []
        self._lock = Lock()

    def add(self, stored: StoredObject) -> None:
        """Keeps those of an object, and forgets those of the oldest that are too much."""
        if stored.kept_size <= MAX_KEPT_SIZE:
            return
        with self._lock:
            self._objects = [each for each in self._objects if each() is not None]
            self._objects.append(ref(stored))
            while sum(map(_kept_size, self._objects)) > MAX_KEPT_IN_ALL:
                if (oldest := self._objects.pop(0)()) is not None:
                    oldest.forget()


def _kept_size(stored: ref[StoredObject]) -> int:
    return 0 if (kept := stored()) is None else kept.kept_size


_kept = _Kept()
