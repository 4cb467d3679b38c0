"""A client of an S3 store, for what pyarrow has no call for.

boto3 is an extra (``pip install '.[s3]'``). It is given what the file system of
pyarrow was made with, and finds credentials where that finds them.
"""

from __future__ import annotations

from importlib.util import find_spec
from os import getpid
from threading import Lock
from typing import Any

from pyarrow import fs

# Making one takes a tenth of a second; all threads may use it.
_clients: dict[tuple[int, str, int], Any] = {}
_making = Lock()

_TRIES = 3
_CONNECT_SECONDS, _READ_SECONDS = 10, 20


def client_of(filesystem: fs.FileSystem, seconds: int = _READ_SECONDS) -> Any:
    """The client of a file system's store.

    Args:
        filesystem: The file system.
        seconds: How long an answer may take, if the file system was told nothing else.

    Returns:
        None if it is none of S3, or only pyarrow reaches it.
    """
    if not isinstance(filesystem, fs.S3FileSystem):
        return None
    options = _options(filesystem)
    # Of whose role it is, or by which proxy it goes, boto3 would have to be told more.
    is_plain = not options["role_arn"] and not options["proxy_options"]["host"]
    if not is_plain or find_spec("boto3") is None:
        return None
    with _making:
        # A process that was forked has no use for the connections of the other.
        name = getpid(), repr(options), seconds
        if name not in _clients:
            _clients[name] = _made(options, seconds)
        return _clients[name]


def is_signing(client: Any) -> bool:
    """Whether it has credentials; nobody without them writes to a store."""
    from botocore import UNSIGNED  # noqa: PLC0415  # an extra

    return client.meta.config.signature_version is not UNSIGNED


def _made(options: dict[str, Any], seconds: int) -> Any:
    import boto3  # noqa: PLC0415  # an extra, and a fifth of a second
    from botocore import UNSIGNED  # noqa: PLC0415  # an extra
    from botocore.config import Config  # noqa: PLC0415  # an extra

    # The session that boto3 has by default is for one thread.
    session = boto3.Session()
    settings: dict[str, Any] = {
        "retries": {"total_max_attempts": _TRIES, "mode": "standard"},
        # Negative where the file system was told none.
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


def _options(filesystem: fs.S3FileSystem) -> dict[str, Any]:
    """What a file system was made with, as it goes to another process."""
    options: dict[str, Any] = filesystem.__reduce__()[1][0]
    return options
