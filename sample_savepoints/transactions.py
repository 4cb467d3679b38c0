"""The input of all jobs: currency rates, and transactions of the customers of a shop.

Everything follows from one seed. Amounts are multiples of 1/4 and rates of 1/8, so that a sum of
doubles is exact in whatever order it is made. No field holds a comma or a line break.
"""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

MINUTE = 60_000
HOUR = 60 * MINUTE
OUT_OF_ORDERNESS = HOUR  # Inputs.OUT_OF_ORDERNESS

_SEED = 52
_START = 1_709_251_200_000  # 2024-03-01T00:00:00Z
_COUNT = 240
_LATEST = 35 * MINUTE  # how far a row may lag behind the one before it

_CURRENCIES = ("EUR", "USD", "GBP", "JPY", "CHF", "SEK", "BTC")
_CURRENCIES_WITHOUT_RATE = ("SEK", "BTC")
_ACCOUNTS = (-2_147_483_648, -7, 0, 1, 42, 127, 128, 255, 65_536, 2_147_483_647, *range(1000, 1014))
_HOLDERS = (
    "",
    " ",
    "Zoë",
    "日本 商店",
    "𝄞 clef",
    "🦩",
    "0",
    "x" * 130,
    *(f"customer-{number:03}" for number in range(12)),
)
_MEMOS = ("", "", "coffee", "Grüße", "書籍", "𝄞", "rent; March", "gift 🎁")
_TAGS = ("", "new", "vip|new", "vip|Ünïcode|𝄞")
_CITIES = (("", ""), ("Köln", "50667"), ("東京", ""), ("Reykjavík", "101"))


@dataclass(frozen=True, slots=True)
class CurrencyRate:
    """A later rate of a currency replaces an earlier one."""

    currency_id: int
    rate: float


@dataclass(frozen=True, slots=True)
class Transaction:
    """Fields in the order of the file; an empty text is a null, except in ``holder`` and ``tags``."""

    id: int
    account_id: int
    holder: str
    currency_id: int
    currency: str
    amount: float
    kind: str
    memo: str
    age: str
    city: str
    zip: str
    tags: str
    event_time: int

    @property
    def cents(self) -> int:
        return int(self.amount * 100)


def currency_rates() -> list[CurrencyRate]:
    """A rate for most currencies, for two of them a second one."""
    numbers = random.Random(_SEED)
    known = [
        index for index, name in enumerate(_CURRENCIES) if name not in _CURRENCIES_WITHOUT_RATE
    ]
    return [CurrencyRate(index, numbers.randrange(1, 200) / 8) for index in known + known[:2]]


def transactions() -> list[Transaction]:
    """In the order in which the jobs read them, which is not that of their event times."""
    numbers = random.Random(_SEED)
    kinds = [_holder_and_kind(numbers, index) for index in range(_COUNT)]
    times = _event_times(numbers)
    return [
        _transaction(numbers, index, holder, kind, event_time)
        for index, ((holder, kind), event_time) in enumerate(zip(kinds, times, strict=True))
    ]


def write_input(folder: Path) -> None:
    """The transactions in two files, so that a job can take a checkpoint between them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = transactions()
    half = len(rows) // 2
    _write(folder / "rates.csv", currency_rates())
    _write(folder / "transactions-1.csv", rows[:half])
    _write(folder / "transactions-2.csv", rows[half:])


def _holder_and_kind(numbers: random.Random, index: int) -> tuple[str, str]:
    if index % 40 == 7:
        return "refunds only", "REFUND"
    if index % 40 == 17:
        return "transfers only", "TRANSFER"
    if index % 40 == 27:
        is_last = index >= _COUNT - 40
        return "closed", "CLOSE" if is_last else "PURCHASE"
    if index % 40 == 37:
        return "closed and back", "CLOSE" if index < _COUNT // 2 else "PURCHASE"
    kind = numbers.choice(("PURCHASE", "PURCHASE", "PURCHASE", "REFUND", "TRANSFER"))
    return numbers.choice(_HOLDERS), kind


def _event_times(numbers: random.Random) -> list[int]:
    """About every three minutes, out of order, no two alike."""
    times: list[int] = []
    taken: set[int] = set()
    for index in range(_COUNT):
        time = _START + index * 3 * MINUTE - numbers.randrange(_LATEST)
        while time in taken:
            time += 1
        taken.add(time)
        times.append(time)
    return times


def _transaction(
    numbers: random.Random, index: int, holder: str, kind: str, event_time: int
) -> Transaction:
    currency_id = numbers.randrange(len(_CURRENCIES))
    city, postcode = numbers.choice(_CITIES)
    return Transaction(
        id=index,
        account_id=numbers.choice(_ACCOUNTS),
        holder=holder,
        currency_id=currency_id,
        currency=_CURRENCIES[currency_id],
        amount=numbers.randrange(1, 40_000) / 4,
        kind=kind,
        memo=numbers.choice(_MEMOS),
        age=numbers.choice(("", "7", "18", "64")),
        city=city,
        zip=postcode,
        tags=numbers.choice(_TAGS),
        event_time=event_time,
    )


def _write(path: Path, rows: Iterable[CurrencyRate] | Sequence[Transaction]) -> None:
    lines = (",".join(str(field) for field in astuple(row)) for row in rows)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def watermark(newest_event_time: int) -> int:
    """The watermark behind a row, as ``Inputs.AfterEveryRow`` emits it."""
    return newest_event_time - OUT_OF_ORDERNESS - 1
