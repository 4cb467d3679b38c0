"""Files of an S3 store that the store assembles from ranges of other files.

pyarrow has no call for that, so it takes an ``s3_client``.

| range        | request          | bytes that come to this machine                      |
|--------------|------------------|------------------------------------------------------|
| a long one   | UploadPartCopy   | none                                                 |
| a short one  | GET, UploadPart  | all: every part except the last needs 5 MiB          |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SavepointError, TruncatedError
from savepoint_formats.locations.stores import client_of, is_signing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import fs

    from savepoint_formats.locations.location import Location
    from savepoint_formats.new_snapshot.new_file import StoredRange

LEAST_PART = 5 << 20
MOST_PART = 1 << 30
"""S3 copies up to 5 GiB at once; a failure of a smaller part costs less."""

COPY_SECONDS = 300
"""Timeout of a request; the store answers after the copy."""


def are_copied_by_store(sources: Iterable[fs.FileSystem], target: fs.FileSystem) -> bool:
    """Whether ``assemble`` works from these file systems to the target."""
    if not all(map(target.equals, sources)):
        return False
    client = client_of(target, COPY_SECONDS)
    return client is not None and is_signing(client)


def assemble(target: Location, head: bytes, ranges: Iterable[StoredRange]) -> None:
    """Writes a head and ranges of files of the same store as one file, in a single step."""
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
    if isinstance(part, bytes):
        return str(client.upload_part(**upload, Body=part)["ETag"])
    last = part.start + part.size - 1
    copied = client.upload_part_copy(
        **upload, CopySource=_place(part.location), CopySourceRange=f"bytes={part.start}-{last}"
    )
    return str(copied["CopyPartResult"]["ETag"])


def _parts(head: bytes, ranges: Iterable[StoredRange]) -> Iterator[bytes | StoredRange]:
    """Divides the file into parts; a short range is sent together with the next one."""
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
            # The rest must not become too short.
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
