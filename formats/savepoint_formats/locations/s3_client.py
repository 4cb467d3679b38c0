"""A client of an S3 store, for requests that pyarrow can't make.

boto3 is an extra (``pip install '.[s3]'``). It gets the settings of pyarrow's file system, and finds
credentials in the same places.
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
    """Whether it has credentials, without which nobody writes to a store."""
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
