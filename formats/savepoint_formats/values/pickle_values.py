"""A pickle of Python as a value: its content as JSON if it is plain data, its bytes, and a reason if not."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.python_state.pickles import plain_json, unpickle_plain

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.layout import Pickle
    from savepoint_formats.values.kinds.codec import Value

_PROTOCOL = 4
"""The protocol of the oldest Python that PyFlink supports."""

NO_PICKLE = "no pickle: give the type that the state has in the job by --types"


def read_pickle(layout: Pickle, view: DataInputView) -> dict[str, Value]:
    """The next pickle; for an open one, all remaining bytes if they are no pickle."""
    start = view.position
    try:
        data = view.read_bytes(view.read_count())
    except FormatError:
        if not layout.is_open:
            raise
        data = b""
    if layout.is_open and not (data.startswith(b"\x80") and data.endswith(b".")):
        view.position = start
        return {"json": None, "bytes": view.read_rest(), "reason": NO_PICKLE}
    whole = bytes(view.buffer[start : view.position])
    try:
        text = json.dumps(plain_json(unpickle_plain(data)), ensure_ascii=False)
        text.encode()
    except (UndecodableError, ValueError) as error:
        return {"json": None, "bytes": whole, "reason": getattr(error, "message", str(error))}
    return {"json": text, "bytes": whole, "reason": None}


def write_pickle(value: Value, view: DataOutputView) -> None:
    """Writes the bytes of a pickle, or a pickle of new JSON.

    Raises ``ValueError`` if there are no bytes, and no JSON.
    """
    if value.get("bytes") is not None:
        view.write_bytes(value["bytes"])
    elif value.get("json") is None:
        raise ValueError("a pickle without bytes and without JSON")
    else:
        data = pickle.dumps(json.loads(value["json"]), _PROTOCOL)
        view.write_int(len(data))
        view.write_bytes(data)
