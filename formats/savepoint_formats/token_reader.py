"""Texts of types and rules, read token by token; the case of words doesn't matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

_T = TypeVar("_T")


class TokenReader:
    """A text, and the position in its tokens.

    ``token`` matches a token, with white space in front; ``what`` names the kind of text in errors.
    Raises ``ValueError`` if something else is in the text.
    """

    def __init__(self, text: str, token: re.Pattern[str], what: str) -> None:
        self.text, self.position = text, 0
        self._what, self._whole = what, text.rstrip()
        self._tokens: list[str] = []
        self._ends = [0]
        while (end := self._ends[-1]) < len(self._whole):
            match = token.match(self._whole, end)
            if match is None:
                rest = self._whole[end:]
                raise ValueError(f"{text!r} is no {what}: {rest!r} is not understood")
            self._tokens.append(match.group().strip())
            self._ends.append(match.end())

    @property
    def end(self) -> int:
        """End of the last token that was taken."""
        return self._ends[self.position]

    def peek(self, distance: int = 0) -> str:
        """The next token, or a later one; empty at the end."""
        place = self.position + distance
        return self._tokens[place] if place < len(self._tokens) else ""

    def error(self, expected: str) -> ValueError:
        shown = repr(self.peek()) if self.peek() else "the end"
        return ValueError(f"{self.text!r} is no {self._what}: {shown}, expected {expected}")

    def take(self, *expected: str) -> bool:
        """Takes these tokens if they come next; returns whether they do."""
        following = (self.peek(distance).upper() for distance in range(len(expected)))
        is_next = [*following] == [token.upper() for token in expected]
        self.position += len(expected) if is_next else 0
        return is_next

    def expect(self, token: str) -> None:
        """Takes this token. Raises ``ValueError`` if another one comes next."""
        if not self.take(token):
            raise self.error(repr(token))

    def expect_end(self) -> None:
        """Raises ``ValueError`` if a token remains."""
        if self.peek():
            raise self.error("the end")

    def name(self, expected: str) -> str:
        """Takes a name, which may be in backticks. Raises ``ValueError`` for another token."""
        token = self.peek()
        if not token or not (token[0] in "`_" or token[0].isalpha()):
            raise self.error(expected)
        self.position += 1
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def listed(self, read: Callable[[], _T]) -> list[_T]:
        """One or more items with commas between them."""
        items = [read()]
        while self.take(","):
            items.append(read())
        return items

    def arguments(self, read: Callable[[], _T], count: int) -> tuple[_T, ...]:
        """As many items in angle brackets, with commas between them."""
        items: list[_T] = []
        for number in range(count):
            self.expect("," if number else "<")
            items.append(read())
        self.expect(">")
        return tuple(items)
