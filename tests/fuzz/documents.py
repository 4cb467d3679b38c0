"""Mutations that know the form of what they change: JSON by its values, texts by their words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_DEEP = "[" * 3000 + "]" * 3000
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1 << 31, -(1 << 63), 1 << 70, 1.5, 1e308),
    *("", "a", "-1", "0", "ROW<`a` INT>", "\ud800", "\0", "9" * 5000, "a" * 5000, "`", "{}"),
    *([], {}, [None], [[]], {"a": None}, {"": {}}, [0, 0, 0]),
)
_WORDS = (
    *("", "\0", "\n", " ", "'", '"', "`", "(", ")", "[", "]", "{", "}", "<", ">", ",", ";", "."),
    *("--", "/*", "*/", "&a", "*a", "!!python/object:x.y", "? ", ": ", "- ", "|", "%", "\\", "$"),
    *("NULL", "SELECT", "FROM", "WHERE", "VALUES", "UNION", "EXPLAIN", "*", "::", "CAST", "0"),
    *("-1", "1e999", "9" * 400, "٣", "\u200b", "\ufeff", "é", "(" * 150, "[" * 150, "-" * 500),
)


def changed_json(data: bytes, chance: Random) -> bytes:
    """JSON with up to three other values, or names, at random places; other texts by their words."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return changed_words(data, chance)
    for _ in range(chance.randint(1, 3)):
        places = list(_places(document))
        if not places:
            break
        holder, name = chance.choice(places)
        _change(holder, name, chance, places)
    text = json.dumps(document)
    if chance.random() < 0.02:
        text = text.replace("null", _DEEP, 1)
    return text.encode("utf-8", "surrogatepass")


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Each list or object with each of its indexes or names."""
    places, waiting = [], [document]
    while waiting:
        one = waiting.pop()
        names = list(one) if isinstance(one, dict) else range(len(one) if _is_list(one) else 0)
        places += [(one, name) for name in names]
        waiting += [one[name] for name in names]
    return places


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _change(holder: Any, name: Any, chance: Random, places: list[tuple[Any, Any]]) -> None:
    match chance.randrange(6):
        case 0:
            del holder[name]
        case 1 if isinstance(holder, dict):
            holder[str(chance.choice(_VALUES))] = holder.pop(name)
        case 2:
            other, of_it = chance.choice(places)
            if of_it in other if isinstance(other, dict) else of_it < len(other):
                holder[name] = _copy(other[of_it])
        case 3 if _is_list(holder):
            holder.append(_copy(holder[name]))
        case 4 if isinstance(holder[name], int):
            holder[name] += chance.choice((-1, 1))
        case _:
            holder[name] = _copy(chance.choice(_VALUES))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def changed_words(data: bytes, chance: Random) -> bytes:
    """A text with up to three words or marks taken out, doubled, moved, or made other ones."""
    words = _WORD.findall(data.decode("utf-8", "replace"))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(words) + 1)
        match chance.randrange(5):
            case 0:
                del words[at : at + chance.randint(1, 3)]
            case 1 if words:
                words.insert(at, chance.choice(words))
            case 2 if words:
                start = chance.randrange(len(words))
                words[at:at] = words[start : start + chance.randint(1, 20)] * chance.randint(1, 3)
            case 3:
                words[at : at + 1] = [chance.choice(_WORDS)]
            case _:
                words.insert(at, chance.choice(_WORDS))
    return "".join(words).encode("utf-8", "replace")
