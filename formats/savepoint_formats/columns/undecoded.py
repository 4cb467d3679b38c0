"""Bytes that nobody can decode, and why."""

from __future__ import annotations


class UndecodedBytes(bytes):
    """The bytes of a value as they are, because ``reason``."""

    reason: str

    def __new__(cls, data: bytes, reason: str = "") -> UndecodedBytes:
        value = super().__new__(cls, data)
        value.reason = reason
        return value
