"""A real savepoint of a job of Flink 1.20.5 with old sources and sinks of Kafka's connector 3.4.0-1.20.

``test_kafka_migration.py`` takes such savepoints; this one has a partition that was read up to 120, one up to
50 and one without a record, and of each of two subtasks of the sink a current transaction and one to be
committed.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ("orders", "counts", "results", "files")

METADATA = zlib.decompress(
    base64.b64decode(
        "eNrtWl+IG8cZn5V1ztkQ+zAOpCUOV7i6TePZ/7taxXGJrNPF4uQ7cdLZtROwZ2dn7zYn7W52V5dTKU5aCCYNhVIojfvU"
        "P3kpLaRPJYUS8tKAH/pQSutCS15Cm6cU0rz4JXVnVivdyqc7n5BsQ9DA3c5+M/vN933z/X4zs6vy1TUIAMiCTskk1+yN"
        "20+82X7p5kz12b/+9tM/nTmRtL2W7sRl45uZJtqCPgoiiL2WG5GAY21JlxvgUbOFN0gEwwhFJASptp9z4EXbaZBnhKjp"
        "CxvI3kBwSwhariyEvhCiTeJ7jkvV2qIi2hCZRs5WiWqaliFQmZ7TJQVaRBGhKudNmNeVHDQsJJqWpdgEmQAceISOc3Cg"
        "kYkdHJhdrpZWCvXllSu1eqFeujJfrtVXymdX6+XlpSvnl+dLYGp1idbjzjMXCpXV0pVaaaVcqJQvl1biCFS9YI1HPsLr"
        "hLcbjrtBbxwee82m5/JR2yetyGmEvIlCwlc8d61GAgc1nG+TYK7/tuYiP1z3Iqr1wM7A7dfemVq1Uq5vN5T2MD0YwnQU"
        "BKjNn21HpBo4TSdyNkmBiVLu7NXY5xzYTjjOTK6Xn9xcbCd+HjtC/8mirENJgnIeQkkBT++SLEwcCv2dX73TKd185VIJ"
        "zur/OfX6s29wQB1CpRCnjwilRJWeqPrlxcXoST0RCvTvKrsOp3Kf3fluf95x/cBbC0gY8ooqY0XP09xXVQuqUs6mNUOE"
        "ui3mZdtWDA1p4O7CPWT8SpggMacbUNNJDqoiVqEhqwjmDKxbIrIkLKIJfif4HTt+pR5+r6Xxe20E/EpD4lfqxy8xLBVL"
        "ebqU2QRD1dAINC2KBxsRS5axjvOa3A/e319/5x/v5l5o/OufH3z59vuPv7XH4nzCJVsRjALkhghHjueiBnQsuM5wuSmn"
        "kJ65BabiTE0hPPPRCAjXRIQkAxswpxMJqirKQ6RrGNpSnvKVYomWRkkze7qL8L0tHSfcv78DM2EUENR03DWKHNclOPKC"
        "kI/d5RdYh0VWrQae1cIUJEvU0HrazrJ1jlqZgtE9e/RhqRf3+0EQV/dwllGF3XJjG0M+ZI31V7zqOiWLImUQJ6pR0ULS"
        "Ya7GrNyN6z5m6ZblwPGLnyeOZMB3RoxzKoJ3jb1HU59Z0YgWFD261GxFd48+WDyQH2MUchw4dx75s/Cbs19nIX1mdtV1"
        "UZNYp2b7bp+CZt7IIdsyTUPJaaaOiWZhrEvINrAoGXmjR17ZmHF/8bUfn/07i/f4BhCTAabZJLIB5m51ZnN8Hozb1IG7"
        "mnsTHxhAeLdGOZKIqilimUBDNCnhEYyhgZAKVQVj2dBkQzQwnThhQngTwvsCEt4YOUhJ4HyoS3LFr4yX5Lr7qaNdkvsq"
        "GC/JKWM3NSl/KPzk7ddunmpLP/zV7fff+WNl160fB05Enu/g+NDksLyBnm2HvfNIauuXPToC65miKCPDFqFBT5pQRYYM"
        "80Sl5KwaeRNrek7W6Pkge7LDeveyapysVxx4NHoJbaLUwYg6GTlNwtdbfmNvrGfAyT0Ussc7SuQ+Snh+GCM2grbHL9J/"
        "Aw3JgPIw6HbYKZkyccjHEK+zsFe7Uacz8t8PfnrGH7Na5vPimPUtj9VtWp5KqUObgcevEZfGG/PPd67zKEJz8dmXDf/0"
        "kP1/B1aHnvLt6Q7n5lvNZrtAh1kha05IfSFWsYHCDjIujUd1f4ol6nsJAfrq9+fdCLjIXb/x1p3pDOcFFgk+S5hL2n1H"
        "tx8+y3T5LLmeHIHXRMli75JFKNFjON3NmTI0dFGBmimZedskui5Ta7NnJrw24bUJr014rcdrrzNeyya8lrzFvHORe4OJ"
        "QT/dvdLPde31x77xwnuPffd7r7737603N/48aG8Xl0eS63NgpMJ54L4U7gdgUh5IGWXfLhv5nJ7HULfNHF3fDAJNXdGg"
        "LhHV1kSCJNGgA/y6s77dv68kHJiKv+j0PJpZLF0qzSfLY/1Sla6I8TLY+Vb1AL/fHF8qnC/VqoXijvEu7Bivy03xas9f"
        "8BxriZ7vQtolfYzeRb7jxeHh66m3h2A6uXm88zUEHP5RIjg4qDW1b+pxxXOjc8VDy3Dvi8lFMbAexDg3k+vHI3CFbJh5"
        "UadSU1LoXphufqFBRVBWxZwl5URMNI3iYmrCFQ+BK/6WRnyXDb7U5YoP08mwo/XTRHBgIM/8LxFMDWy9k/7J0CAW+s0n"
        "YCoMgLFrAKgEb8RZxxd71Wrg+YRuazs/NWD6M2D6MpixnBCjwCoiF5NGg1iXwaOJaAE58f3R7r3jOuF6WlJrmWGrySQz"
        "PUnoE9diooO2F2BWOdRycQNRw6wKOLJtW53mRATkCnVD6LghxG4IiRvCdlehOzvsmdNbfjIvNAjSfoJQ64KQPf6z63+Z"
        "fvtbx9/NgAMVcJja2ESJKdpOU7AXEIFsEdxipwGhp2ih99jpCsiyV44ROFZh+2qhgdw1oRYF9LBB2477XhhtT0IhftEc"
        "gXP78zpt91x1gCYai2sBUHYEgdnN9+zmB9jdTaZjAGwF4Eh8JGCm8yW31Uw3+hE4VCwsLS+Vi4UKrfd00YEXho7+QC/S"
        "w70MroFDEcjSAUv/B4JPhY0="
    )
)


def legacy_savepoint(folder: Path) -> str:
    """Writes the savepoint."""
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(METADATA)
    return str(folder)
