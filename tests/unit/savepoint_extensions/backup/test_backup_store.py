"""Which file systems lead to one store."""

from __future__ import annotations

from itertools import combinations, product

from pyarrow import fs

from savepoint_extensions.backup.backup_store import is_one_store


def s3(endpoint: str = "", region: str = "us-east-1") -> fs.FileSystem:
    return fs.S3FileSystem(anonymous=True, endpoint_override=endpoint, region=region)


def test_options_make_no_other_store() -> None:
    named = [s3("http://minio:9000/"), s3("MinIO:9000", "eu-west-1")]
    of_jobs = [fs.AzureFileSystem("jobs", account_key=key) for key in ("a2V5", "b3RoZXI=")]
    stores = [named, of_jobs, [s3("minio:9001")], [fs.AzureFileSystem("backups")]]
    stores += [[fs.GcsFileSystem(anonymous=True)], [fs.LocalFileSystem()]]
    for store in stores:
        assert all(is_one_store(*pair) for pair in product(store, store))
    for one, other in combinations(stores, 2):
        assert not any(is_one_store(*pair) for pair in product(one, other))


def test_an_endpoint_that_only_one_names_may_be_the_others() -> None:
    assert is_one_store(s3(), s3("minio:9000"))
    assert is_one_store(s3("minio:9000"), s3(region="eu-west-1"))
