"""The file systems that URIs name: each is asked once whether it answers, for a limited time.

Libraries of object stores try again for minutes, some for a quarter of an hour, before they report
that there is no network. Azure's library ends the process if it has no credentials and opens a file;
if it is asked about a file, it raises. So a file system is used only after it has answered.

Requests to S3 that pyarrow can't make need boto3, an extra (``pip install '.[s3]'``). It gets the
settings of pyarrow's file system, and finds credentials in the same places.
"""

from __future__ import annotations

import os
import posixpath
import re
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.util import find_spec
from os import getpid
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from savepoint_formats.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    First = Callable[[fs.FileSystem, str], bool]


AnswerT = TypeVar("AnswerT")

CONTACT_SECONDS = 30.0
"""How long a file system may take for its first answer; a JVM for HDFS starts meanwhile."""

# Flink's connectors for S3 lead to the same store, and so do those for Azure.
_SAME_SCHEMES = {"s3a": "s3", "s3n": "s3", "s3p": "s3", "abfss": "abfs"}

# A single letter is no scheme: C:/savepoint.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")

# The name to ask for if a URI names only a bucket.
_ANY_NAME = "_metadata"

# URI without a path -> file system and path of its root, if it has answered.
_answered: dict[str, tuple[fs.FileSystem, str]] = {}


def scheme_of(uri: str) -> str:
    """The kind of file system of a path or URI; ``file`` for a local path."""
    scheme = _scheme(uri)
    return _SAME_SCHEMES.get(scheme, scheme) or "file"


def store_of(uri: str) -> tuple[str, str]:
    """The scheme and host of a path or URI; two of the same are on the same store."""
    scheme, host = scheme_of(uri), _host_and_path(uri)[0].lower()
    if scheme == "file":
        return scheme, "" if host == "localhost" else host
    # The text before @ is a container in Azure, and a user elsewhere.
    return scheme, host if scheme == "abfs" else host.rpartition("@")[2]


def path_of(uri: str) -> str:
    """The path of a path or URI; Flink knows neither options nor escapes in it."""
    return _host_and_path(uri)[1]


def path_in_store(uri: str) -> str:
    """The path of a URI on the file system of its store."""
    host, path = _host_and_path(uri)
    match scheme_of(uri):
        case "s3" | "gs":
            return host.rpartition("@")[2] + path
        case "abfs":
            return host.partition("@")[0] + path if "@" in host else path.lstrip("/")
        case "file":
            return os.path.abspath(path)
        case _:
            return path


def _scheme(uri: str) -> str:
    # Python's parser refuses texts that are no URI, such as the path of a damaged handle.
    match = _SCHEME.match(uri)
    return match[1].lower() if match else ""


def _host_and_path(uri: str) -> tuple[str, str]:
    scheme = _scheme(uri)
    if not scheme:
        return "", uri
    rest = uri[len(scheme) + 1 :]
    if not rest.startswith("//"):
        return "", rest
    host, slash, path = rest[2:].partition("/")
    # A user may write options behind the bucket.
    return host.partition("?")[0], slash + path


def remote_file_system(uri: str, first: First | None = None) -> tuple[fs.FileSystem, str]:
    """The file system of a URI that is not local, and the path in it.

    A store that has not answered yet is asked by ``first``; if that finds nothing, by the path.
    Raises ``UnreachableError`` if the store is unknown, refuses, or does not answer in time.
    """
    base, path = _parts(uri)
    if base not in _answered:
        with reading_errors(uri):
            _answered[base] = _in_time(lambda: _contacted(base, path, first), uri)
    filesystem, root = _answered[base]
    return filesystem, _joined(root, path)


@contextmanager
def reading_errors(path: str) -> Iterator[None]:
    """Turns errors of file systems into an ``UnreachableError`` that names the path."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeEncodeError) as error:
        # A message of HDFS fills a page.
        reason = str(error).partition("\n")[0]
        raise UnreachableError(f"{path} can't be read: {reason}") from error


def _parts(uri: str) -> tuple[str, str]:
    """The URI of the store, with the options of ``uri``, and the path."""
    # Flink does not escape paths: only a ? that a user wrote has a meaning.
    uri, question, query = uri.partition("?")
    host, rest = _host_and_path(uri)
    # pyarrow encrypts the connection to Azure by the scheme.
    scheme = _scheme(uri)
    scheme = scheme if scheme == "abfss" else scheme_of(uri)
    return f"{scheme}://{quote(host, ':@[]')}/{question}{query}", rest.strip("/")


def _contacted(base: str, path: str, first: First | None) -> tuple[fs.FileSystem, str]:
    filesystem, root = fs.FileSystem.from_uri(base)
    where = _joined(root, path)
    if first is None or not first(filesystem, where):
        is_bucket = "/" not in where.strip("/")
        filesystem.get_file_info(posixpath.join(where, _ANY_NAME) if is_bucket else where)
    return filesystem, root


def _joined(root: str, path: str) -> str:
    return posixpath.join(root, path) if path else root.rstrip("/") or root


def started(call: Callable[[], AnswerT]) -> Future[AnswerT]:
    """Runs a call in a daemon thread, which ends with the process."""
    answer: Future[AnswerT] = Future()
    answer.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # it is raised where the answer is awaited
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer


def _in_time(ask: Callable[[], AnswerT], uri: str) -> AnswerT:
    answer = started(ask)
    try:
        return answer.result(CONTACT_SECONDS)
    except TimeoutError as error:
        if answer.done():
            raise
        raise UnreachableError(
            f"{uri}: no answer within {CONTACT_SECONDS:g} s; check the network, the name of the"
            " store and the credentials"
        ) from error


# Making one takes a tenth of a second; all threads may use it.
_clients: dict[tuple[int, str, int], Any] = {}
_making = Lock()

_TRIES = 3
_CONNECT_SECONDS, _READ_SECONDS = 10, 20


def client_of(filesystem: fs.FileSystem, seconds: int = _READ_SECONDS) -> Any:
    """The client of a file system's store; None if it is not on S3, or only pyarrow reaches it.

    ``seconds`` limits the time of an answer, unless the file system has a limit.
    """
    if not isinstance(filesystem, fs.S3FileSystem):
        return None
    # The settings that the file system takes to another process.
    options: dict[str, Any] = filesystem.__reduce__()[1][0]
    # boto3 would need more settings for a role or a proxy.
    is_plain = not options["role_arn"] and not options["proxy_options"]["host"]
    if not is_plain or find_spec("boto3") is None:
        return None
    with _making:
        # A forked process can't use the connections of the other one.
        name = getpid(), repr(options), seconds
        if name not in _clients:
            _clients[name] = _made(options, seconds)
        return _clients[name]


def is_signing(client: Any) -> bool:
    """Whether it has credentials, which a write to a store needs."""
    from botocore import UNSIGNED  # noqa: PLC0415  # an extra

    return client.meta.config.signature_version is not UNSIGNED


def _made(options: dict[str, Any], seconds: int) -> Any:
    import boto3  # noqa: PLC0415  # an extra, and a fifth of a second
    from botocore import UNSIGNED  # noqa: PLC0415  # an extra
    from botocore.config import Config  # noqa: PLC0415  # an extra

    # boto3's default session is for one thread.
    session = boto3.Session()
    settings: dict[str, Any] = {
        "retries": {"total_max_attempts": _TRIES, "mode": "standard"},
        # Negative if the file system has none.
        "connect_timeout": max(options["connect_timeout"], 0) or _CONNECT_SECONDS,
        "read_timeout": max(options["request_timeout"], 0) or seconds,
    }
    if options["anonymous"] or not (options["access_key"] or session.get_credentials()):
        settings["signature_version"] = UNSIGNED
    if options["force_virtual_addressing"]:
        settings["s3"] = {"addressing_style": "virtual"}
    endpoint = options["endpoint_override"]
    if endpoint and "://" not in endpoint:
        endpoint = f"{options['scheme']}://{endpoint}"
    return session.client(
        "s3",
        region_name=options["region"] or None,
        endpoint_url=endpoint or None,
        aws_access_key_id=options["access_key"] or None,
        aws_secret_access_key=options["secret_key"] or None,
        aws_session_token=options["session_token"] or None,
        verify=options.get("tls_ca_file_path") or None,
        config=Config(**settings),
    )
