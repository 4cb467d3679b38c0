"""A file of an S3 store, which the store puts together of ranges of other files.

pyarrow has no call for that, so ``s3_client`` makes it, where there is one.

| part         | request          | bytes that come to this machine                      |
|--------------|------------------|------------------------------------------------------|
| a long range | UploadPartCopy   | none                                                 |
| what is less | GET, UploadPart  | all: a part other than the last has 5 MiB at least   |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SavepointError, TruncatedError
from savepoint_formats.locations.s3_client import client_of, is_signing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import fs

    from savepoint_formats.locations.location import Location
    from savepoint_formats.new_snapshot.stored_range import StoredRange

LEAST_PART = 5 << 20
MOST_PART = 1 << 30
"""S3 copies 5 GiB at once; parts of a GiB are of a number that it allows, and fail one by one."""

COPY_SECONDS = 300
"""Such a part is copied before the store answers."""


def are_copied_by_store(sources: Iterable[fs.FileSystem], target: fs.FileSystem) -> bool:
    """Whether ``assemble`` makes files of one out of ranges of the others."""
    if not all(map(target.equals, sources)):
        return False
    client = client_of(target, COPY_SECONDS)
    return client is not None and is_signing(client)


def assemble(target: Location, head: bytes, ranges: Iterable[StoredRange]) -> None:
    """Writes a file of a head and ranges of others of the same store; it appears as a whole.

    Raises:
        SavepointError: The store refuses it.
        TruncatedError: A file has become shorter.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # an extra

    client = client_of(target.filesystem, COPY_SECONDS)
    try:
        _upload(client, _place(target), _parts(head, ranges))
    except (BotoCoreError, ClientError, OSError) as error:
        raise SavepointError(f"{target.path} can't be written: {error}") from error


def _upload(client: Any, place: dict[str, str], parts: Iterator[bytes | StoredRange]) -> None:
    upload = {**place, "UploadId": client.create_multipart_upload(**place)["UploadId"]}
    try:
        done = [
            {"PartNumber": number, "ETag": _sent(client, {**upload, "PartNumber": number}, part)}
            for number, part in enumerate(parts, 1)
        ]
        client.complete_multipart_upload(**upload, MultipartUpload={"Parts": done})
    except BaseException:
        client.abort_multipart_upload(**upload)
        raise


def _sent(client: Any, upload: dict[str, Any], part: bytes | StoredRange) -> str:
    """Sends a part, or has it copied; returns its tag."""
    if isinstance(part, bytes):
        return str(client.upload_part(**upload, Body=part)["ETag"])
    last = part.start + part.size - 1
    copied = client.upload_part_copy(
        **upload, CopySource=_place(part.location), CopySourceRange=f"bytes={part.start}-{last}"
    )
    return str(copied["CopyPartResult"]["ETag"])


def _parts(head: bytes, ranges: Iterable[StoredRange]) -> Iterator[bytes | StoredRange]:
    """The parts; what is too short to be copied is sent with what lies behind it."""
    pending = head
    for stored in ranges:
        rest = stored
        if pending and len(pending) < LEAST_PART:
            size = min(LEAST_PART - len(pending), rest.size)
            pending += _read(rest.first(size))
            rest = rest.behind(size)
        if pending and len(pending) >= LEAST_PART:
            yield pending
            pending = b""
        while rest.size >= LEAST_PART:
            # Nothing that is too short may be left over.
            size = rest.size if rest.size <= MOST_PART else MOST_PART - LEAST_PART
            yield rest.first(size)
            rest = rest.behind(size)
        if rest.size:
            pending += _read(rest)
    if pending:
        yield pending


def _read(stored: StoredRange) -> bytes:
    with stored.location.filesystem.open_input_file(stored.location.path) as file:
        data: bytes = file.read_at(stored.size, stored.start)
    if len(data) < stored.size:
        message = f"the file ends here, expected {stored.size - len(data)} bytes more"
        raise TruncatedError(message, stored.location.path, stored.start + len(data))
    return data


def _place(location: Location) -> dict[str, str]:
    bucket, _, key = location.path.partition("/")
    return {"Bucket": bucket, "Key": key}
