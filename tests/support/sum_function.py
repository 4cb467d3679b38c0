"""A function of a user that aggregates."""

from __future__ import annotations


class Sum:
    """A sum, which is its own accumulator."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, total: int, other: int) -> int:
        return total + other
