"""Bytes that a text may have in a savepoint, whatever wrote it.

| form                     | written by                                                              |
|--------------------------|-------------------------------------------------------------------------|
| UTF-8                    | rows of SQL, Avro, pickles, JSON inside of bytes                        |
| UTF-16, both byte orders | Java's ``char[]``, other languages                                      |
| UTF-32, both byte orders | arrays of numpy                                                         |
| Latin-1                  | writers of a byte per character, old pickles                            |
| units of 7 bits          | Flink's ``StringValue``: a number of 1 to 3 bytes per UTF-16 code unit  |
| modified UTF-8           | Java's ``writeUTF`` and serialization, Kryo: surrogates in 3 bytes each |
| ASCII with an end mark   | Kryo: the last byte has its highest bit set                             |
| JSON, with escapes       | writers of JSON, of all characters beyond ASCII or of none; Jackson has |
|                          | digits in upper case, Gson escapes ``<>&='``, PHP escapes ``/``; JSON    |
|                          | in a text of JSON has escapes twice                                     |
| hexadecimal, Base64      | texts of UTF-8, UTF-16 or JSON inside of other texts; Base64 may begin  |
|                          | at each of three places, and letters that it shares with its neighbours |
|                          | are left out                                                            |
| percent signs            | parts of URLs                                                           |
| entities                 | XML, HTML                                                               |
| escapes of Python        | pickles of protocol 0                                                   |
| UTF-8 twice              | bytes in pickles of protocol 2, writers that took UTF-8 for Latin-1     |
| halves of a UUID         | Java's two ``long``; POJOs and Java's serialization in big-endian order,|
|                          | rows of SQL in little-endian order                                      |
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import quote
from xml.sax.saxutils import escape

from savepoint_extensions.privacy.form_search import FormSearch

_LATIN = 0x100
_LEAST_LETTERS = 8
# Fewer are like numbers with leading zeros.
_LEAST_UTF32 = 4
_LEAST_BYTES_OF_HALF = 6
# Halves with fewer different bytes are like small numbers.
_SPELLINGS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
_OF_GSON = re.compile("[<>&=']")
_QUOTES: tuple[dict[str, str], ...] = (
    {},
    {'"': "&quot;", "'": "&apos;"},
    {'"': "&#34;", "'": "&#39;"},
)
_PERCENT = re.compile("%[0-9A-F]{2}")
_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LIKE_A_NUMBER_OR_TIME = re.compile(r"[^\W\d_]{0,4}\d{4}-\d\d.*|[a-fA-FTZxX\W\d_]*")


@dataclass(frozen=True)
class SoughtTexts:
    """Texts that are looked for, and their forms."""

    values: tuple[str, ...]

    @cached_property
    def forms(self) -> tuple[bytes, ...]:
        """The forms of all texts, each once."""
        return tuple(dict.fromkeys(form for text in self.spellings for form in text_forms(text)))

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The texts, with accents as letters of their own or as one letter with them."""
        return tuple(
            dict.fromkeys(
                spelling
                for value in self.values
                for spelling in (value, *(unicodedata.normalize(it, value) for it in _SPELLINGS))
            )
        )

    @cached_property
    def search(self) -> FormSearch:
        """The search for all forms at once."""
        return FormSearch(self.forms)

    @cached_property
    def has_others(self) -> bool:
        """Whether bytes may have one of them as a number or a time, which no form shows."""
        return not all(map(is_only_text, self.values))


def text_forms(text: str) -> tuple[bytes, ...]:
    """The forms, each once, without sizes in front."""
    units = _code_units(text)
    modified = "".join(map(chr, units)).encode("utf-8", "surrogatepass")
    encodings = ["utf-8", "utf-16-be", "utf-16-le"]
    if len(text) >= _LEAST_UTF32:
        encodings += ["utf-32-be", "utf-32-le"]
    forms = [text.encode(encoding, "surrogatepass") for encoding in encodings]
    forms += [b"".join(map(_varint, units)), modified]
    if all(unit < _LATIN for unit in units):
        forms.append(text.encode("latin-1"))
    if text.isascii() and len(text) > 1:
        forms.append(text[:-1].encode() + bytes([ord(text[-1]) | 0x80]))
    in_json = [form.encode("utf-8", "surrogatepass") for form in _in_json(text)]
    forms += in_json
    forms += [letters for data in (*forms[:3], *in_json[:1]) for letters in _in_letters(data)]
    forms += _in_urls(forms[0])
    forms += [modified.replace(b"\0", b"\xc0\x80"), text.encode("raw-unicode-escape")]
    forms.append(forms[0].decode("latin-1").encode())
    forms += [escape(text, quotes).encode("utf-8", "surrogatepass") for quotes in _QUOTES]
    forms += _of_uuid(text)
    return tuple(dict.fromkeys(form for form in forms if form))


def _in_json(text: str) -> list[str]:
    """The text between the quotes of a text of JSON, with the escapes of some writers."""
    plain = [json.dumps(text, ensure_ascii=escapes)[1:-1] for escapes in (True, False)]
    upper = [_ESCAPE.sub(lambda match: "\\u" + match[1].upper(), form) for form in plain]
    of_gson = [
        _OF_GSON.sub(lambda match: f"\\u{ord(match[0]):04x}", form) for form in (*plain, *upper)
    ]
    twice = json.dumps(plain[0])[1:-1]
    slashes = (form.replace("/", "\\/") for form in (*plain, *upper))
    return [*plain, *upper, *of_gson, twice, *slashes]


def _in_letters(data: bytes) -> list[bytes]:
    """The bytes in hexadecimal and in Base64, unless they are so short that many texts have them."""
    digits = data.hex().encode()
    forms = [digits, digits.upper()] if len(digits) >= _LEAST_LETTERS else []
    for before in range(3):
        letters = base64.b64encode(bytes(before) + data)
        # A letter has six bits: the first may be shared with what is in front, the last with the rest.
        own = letters[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(own) >= _LEAST_LETTERS:
            forms += [own, own.translate(_URL_SAFE)]
    return forms


def _in_urls(data: bytes) -> list[bytes]:
    """The bytes in a URL: some writers escape a slash, and digits may be in lower case."""
    escaped = [quote(data, safe=safe) for safe in ("", "/")]
    lower = [_PERCENT.sub(lambda match: match[0].lower(), text) for text in escaped]
    both = (*escaped, *lower)
    return [form.encode() for text in both for form in (text, text.replace("%20", "+"))]


def _of_uuid(text: str) -> list[bytes]:
    """The digits of a UUID, and its halves as numbers of 64 bits."""
    if _UUID.fullmatch(text) is None:
        return []
    whole = uuid.UUID(text)
    halves = whole.bytes[:8], whole.bytes[8:]
    told = [half for half in halves if len(set(half)) >= _LEAST_BYTES_OF_HALF]
    digits = whole.hex.encode()
    return [digits, digits.upper(), *told, *(half[::-1] for half in told)]


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
