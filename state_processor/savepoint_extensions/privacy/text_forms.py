"""Bytes that a text may have in a savepoint, whatever wrote it.

| form                     | written by                                                              |
|--------------------------|-------------------------------------------------------------------------|
| UTF-8                    | rows of SQL, Avro, pickles, JSON inside of bytes                        |
| UTF-16, both byte orders | Java's ``char[]``, other languages                                      |
| units of 7 bits          | Flink's ``StringValue``: a number of 1 to 3 bytes per UTF-16 code unit  |
| modified UTF-8           | Java's ``writeUTF`` and serialization, Kryo: surrogates in 3 bytes each |
| ASCII with an end mark   | Kryo: the last byte has its highest bit set                             |
| JSON, with escapes       | writers of JSON, of all characters beyond ASCII or of none              |
"""

from __future__ import annotations

import json
import re

_LIKE_A_NUMBER_OR_TIME = re.compile(r"[^\W\d_]{0,4}\d{4}-\d\d.*|[a-fA-FTZxX\W\d_]*")


def text_forms(text: str) -> tuple[bytes, ...]:
    """The forms, each once, without sizes in front."""
    units = _code_units(text)
    modified = "".join(map(chr, units)).encode("utf-8", "surrogatepass")
    forms = [
        text.encode("utf-8", "surrogatepass"),
        text.encode("utf-16-be", "surrogatepass"),
        text.encode("utf-16-le", "surrogatepass"),
        b"".join(map(_varint, units)),
        modified,
    ]
    if text.isascii() and len(text) > 1:
        forms.append(text[:-1].encode() + bytes([ord(text[-1]) | 0x80]))
    for escapes in (True, False):
        forms.append(json.dumps(text, ensure_ascii=escapes)[1:-1].encode("utf-8", "surrogatepass"))
    return tuple(dict.fromkeys(form for form in forms if form))


def forms_pattern(forms: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Finds any of the forms."""
    return re.compile(b"|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))


def _code_units(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def _varint(number: int) -> bytes:
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def is_only_text(value: str) -> bool:
    """Whether no number, time, id, boolean or constant of an enum can be shown as this text."""
    is_name = value.replace("$", "_").isidentifier()
    return not is_name and not _LIKE_A_NUMBER_OR_TIME.fullmatch(value)
