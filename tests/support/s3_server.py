"""An object store on this machine, with the protocol of S3."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# That of all who ask this server.
_ACCOUNT = "123456789012"


@dataclass(frozen=True)
class S3Server:
    """A server that runs.

    Attributes:
        address: Host and port.
        client: What asks it, beside the code that is tested.
    """

    address: str
    client: Any

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[S3Server]:
        """A server until the context is left; the environment has its credentials."""
        # Half a second, which every process of the tests would take.
        import boto3  # noqa: PLC0415
        from moto.server import ThreadedMotoServer  # noqa: PLC0415

        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        address = f"{host}:{port}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "test")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            yield cls(
                address,
                boto3.client("s3", endpoint_url=f"http://{address}", region_name="us-east-1"),
            )
        server.stop()

    def bucket(self, name: str) -> str:
        """A bucket that is there."""
        self.client.create_bucket(Bucket=name)
        return name

    @contextmanager
    def closed(self) -> Iterator[None]:
        """The time in which nobody may read or write anything."""
        try:
            self._let_in("0")
            yield
        finally:
            self._let_in("inf")

    def _let_in(self, requests: str) -> None:
        """Allows so many more requests of those whom the server does not know."""
        url = f"http://{self.address}/moto-api/reset-auth"
        with urlopen(Request(url, requests.encode(), {"Content-Type": "text/plain"})):
            pass

    def put(self, bucket: str, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=bucket, Key=key, Body=data)

    def get(self, bucket: str, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=bucket, Key=key)["Body"].read())

    def size(self, bucket: str, key: str) -> int:
        return int(self.client.head_object(Bucket=bucket, Key=key)["ContentLength"])

    def age(self, bucket: str, key: str, seconds: float) -> None:
        """Lets an object be older, as if its time had passed."""
        from moto.s3.models import s3_backends  # noqa: PLC0415

        stored = s3_backends[_ACCOUNT]["aws"].buckets[bucket].keys[key]
        stored.last_modified -= timedelta(seconds=seconds)

    def keys(self, bucket: str) -> set[str]:
        """The keys of all objects in a bucket, but those that stand for directories."""
        objects = self.client.list_objects_v2(Bucket=bucket).get("Contents", [])
        return {stored["Key"] for stored in objects if not stored["Key"].endswith("/")}

    def uri(self, bucket: str, key: str, scheme: str = "s3") -> str:
        """The URI that leads pyarrow to this server."""
        where = f"scheme=http&endpoint_override={self.address}&region=us-east-1"
        return f"{scheme}://{bucket}/{key}?{where}"
