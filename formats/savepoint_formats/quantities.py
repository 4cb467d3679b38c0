"""Numbers that people see with a unit; programs get plain numbers."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


class ByteCount(int):
    """A number of bytes."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The number in a unit that leaves it below 1000.

        Example:
            >>> ByteCount(14_168).text
            '14.2 kB'
        """
        amount, unit = float(self), 0
        while abs(amount) >= 999.95 and unit + 1 < len(_UNITS):
            amount, unit = amount / 1000, unit + 1
        return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{int(self)} B"


class Share(float):
    """A fraction of 1."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The share in percent.

        Example:
            >>> Share(0.125).text
            '12.5%'
        """
        return f"{self:.1%}"
