"""The ``_metadata`` file of a savepoint or checkpoint.

| bytes  | field         | meaning                                                           |
|--------|---------------|-------------------------------------------------------------------|
| i32    | magic         | ``49 60 67 2D``                                                   |
| i32    | version       | 2 (Flink 1.3), 3 (1.11), 4 (1.16), 5 (2.0), 6 (2.1), 7 (2.4)      |
| i64    | checkpoint_id | not negative                                                      |
| i32, … | master_states | count, then each                                                  |
| i32, … | operators     | count, then each                                                  |
| …      | properties    | a Java object, to the end of the file; version 4 and later        |

Flink: ``Checkpoints.storeCheckpointMetadata``, ``MetadataV2V3SerializerBase``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_formats.bytes.codecs import BYTES, INT, UTF, Codec, Record, list_codec
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, NotASavepointError, UnsupportedVersionError
from savepoint_formats.key_groups import MAX_PARALLELISM, OperatorId
from savepoint_formats.metadata.keyed_handles import read_keyed_handle, write_keyed_handle
from savepoint_formats.metadata.operator_handles import (
    OperatorStateHandle,
    read_channel_handles,
    write_channel_handles,
)
from savepoint_formats.metadata.properties import CheckpointProperties
from savepoint_formats.metadata.stream_handles import InlineStream, read_stream, write_stream

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.metadata.keyed_handles import KeyedStateHandle
    from savepoint_formats.metadata.operator_handles import ChannelHandle

MAGIC = bytes.fromhex("4960672d")
MASTER_STATE_MAGIC = -0x3694E96A
FULLY_FINISHED = -1
NO_DURATION = -1


class MetadataVersion:
    """Versions of the file, named for what each of them added."""

    OLDEST = 2
    CHANNEL_STATE = 3
    PROPERTIES = 4
    OPERATOR_NAMES = 5
    MERGED_CHANNELS = 6
    REFERENCE_CHECKPOINT = 7
    NEWEST = 7


@dataclass(frozen=True, slots=True)
class MasterState(Record):
    """State of a hook on the job manager.

    | bytes    | field   | meaning                    |
    |----------|---------|----------------------------|
    | i32      | magic   | ``C9 6B 16 96``            |
    | i32      |         | bytes of the rest          |
    | i32      | version |                            |
    | utf      | name    |                            |
    | i32, …   | payload | size, bytes                |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (INT, UTF, BYTES)
    version: int
    name: str
    payload: bytes


def _read_master_state(view: DataInputView) -> MasterState:
    magic = view.read_int()
    if magic != MASTER_STATE_MAGIC:
        raise view.error(f"a master state that begins with {magic:#x}")
    body = view.read_view(view.read_count())
    state = MasterState.read(body)
    body.expect_end()
    return state


def _write_master_state(view: DataOutputView, state: MasterState) -> None:
    view.write_int(MASTER_STATE_MAGIC)
    BYTES.write(view, state.to_bytes())


_MASTER_STATES = list_codec(Codec(_read_master_state, _write_master_state), 8)


@dataclass(frozen=True, slots=True)
class SubtaskState:
    """The state of one subtask.

    | bytes  | field                  | meaning                                              |
    |--------|------------------------|------------------------------------------------------|
    | i32    | index                  | negative: subtask -index-1 is finished, nothing more |
    | i64    | duration               | version 2 only; -1                                   |
    | i32    |                        | version 2 only; 0                                    |
    | i32, … | managed_operator_state | 0, or 1 and a handle                                 |
    | i32, … | raw_operator_state     | 0, or 1 and a handle                                 |
    | …      | managed_keyed_state    | keyed handle                                         |
    | …      | raw_keyed_state        | keyed handle                                         |
    | i32, … | input_channels         | version 3 and later: count, then each                |
    | i32, … | output_channels        | version 3 and later: count, then each                |
    | u8, …  | reference_checkpoint   | version 7 and later: 0, or 1 and an i64              |
    """

    index: int
    is_finished: bool = False
    managed_operator_state: OperatorStateHandle | None = None
    raw_operator_state: OperatorStateHandle | None = None
    managed_keyed_state: KeyedStateHandle | None = None
    raw_keyed_state: KeyedStateHandle | None = None
    input_channels: tuple[ChannelHandle, ...] = ()
    output_channels: tuple[ChannelHandle, ...] = ()
    reference_checkpoint: int | None = None
    duration: int = NO_DURATION

    @classmethod
    def read(cls, view: DataInputView, version: int) -> Self:
        index = view.read_int()
        if index < 0 and version >= MetadataVersion.CHANNEL_STATE:
            return cls(-index - 1, is_finished=True)
        duration = NO_DURATION
        if version < MetadataVersion.CHANNEL_STATE:
            duration = view.read_long()
            if (count := view.read_int()) != 0:
                raise view.error(f"{count} legacy states, expected 0")
        managed, raw = _read_operator_state(view), _read_operator_state(view)
        managed_keyed, raw_keyed = read_keyed_handle(view), read_keyed_handle(view)
        inputs: tuple[ChannelHandle, ...] = ()
        outputs: tuple[ChannelHandle, ...] = ()
        if version >= MetadataVersion.CHANNEL_STATE:
            has_direction = version >= MetadataVersion.MERGED_CHANNELS
            inputs = read_channel_handles(view, has_direction=has_direction)
            outputs = read_channel_handles(view, has_direction=has_direction)
        reference = None
        if version >= MetadataVersion.REFERENCE_CHECKPOINT and view.read_strict_bool():
            reference = view.read_long()
        return cls(
            index,
            managed_operator_state=managed,
            raw_operator_state=raw,
            managed_keyed_state=managed_keyed,
            raw_keyed_state=raw_keyed,
            input_channels=inputs,
            output_channels=outputs,
            reference_checkpoint=reference,
            duration=duration,
        )

    def write(self, view: DataOutputView, version: int) -> None:
        if self.is_finished:
            view.write_int(-self.index - 1)
            return
        view.write_int(self.index)
        if version < MetadataVersion.CHANNEL_STATE:
            view.write_long(self.duration)
            view.write_int(0)
        _write_operator_state(self.managed_operator_state, view)
        _write_operator_state(self.raw_operator_state, view)
        write_keyed_handle(self.managed_keyed_state, view)
        write_keyed_handle(self.raw_keyed_state, view)
        if version >= MetadataVersion.CHANNEL_STATE:
            write_channel_handles(self.input_channels, view)
            write_channel_handles(self.output_channels, view)
        if version >= MetadataVersion.REFERENCE_CHECKPOINT:
            view.write_bool(self.reference_checkpoint is not None)
            if self.reference_checkpoint is not None:
                view.write_long(self.reference_checkpoint)


def _read_operator_state(view: DataInputView) -> OperatorStateHandle | None:
    has_handle = view.read_int()
    if has_handle not in (0, 1):
        raise view.error(f"{has_handle} operator state handles, expected 0 or 1")
    if not has_handle:
        return None
    handle = OperatorStateHandle.read(view)
    if handle is None:
        raise view.error("no operator state handle, expected one")
    return handle


def _write_operator_state(handle: OperatorStateHandle | None, view: DataOutputView) -> None:
    view.write_int(0 if handle is None else 1)
    if handle is not None:
        handle.write(view)


@dataclass(frozen=True, slots=True)
class OperatorState:
    """An operator of the job and the state of its subtasks.

    | bytes    | field             | meaning                                               |
    |----------|-------------------|-------------------------------------------------------|
    | utf ×2   | name, uid         | version 5 and later; empty = not known                |
    | 16 bytes | operator_id       | hash of the uid                                       |
    | i32      | parallelism       |                                                       |
    | i32      | max_parallelism   |                                                       |
    | i32      | chain_length      | version 2 only; 1                                     |
    | …        | coordinator_state | version 3 and later: nothing, or an inline stream     |
    | i32, …   | subtasks          | count, then each; -1 = the whole operator is finished |

    A subtask without any state may be missing.
    """

    operator_id: OperatorId
    parallelism: int
    max_parallelism: int
    subtasks: tuple[SubtaskState, ...] = ()
    coordinator_state: InlineStream | None = None
    is_finished: bool = False
    name: str = ""
    uid: str = ""
    chain_length: int = 1

    @classmethod
    def read(cls, view: DataInputView, version: int) -> Self:
        name = uid = ""
        if version >= MetadataVersion.OPERATOR_NAMES:
            name, uid = view.read_utf(), view.read_utf()
        operator_id = OperatorId(view.read_bytes(OperatorId.SIZE))
        parallelism, max_parallelism = _read_parallelism(view)
        chain_length, coordinator_state = 1, None
        if version < MetadataVersion.CHANNEL_STATE:
            chain_length = view.read_int()
        else:
            coordinator_state = _read_coordinator_state(view)
        subtasks = _read_subtasks(view, version)
        return cls(
            operator_id,
            parallelism,
            max_parallelism,
            subtasks or (),
            coordinator_state,
            is_finished=subtasks is None,
            name=name,
            uid=uid,
            chain_length=chain_length,
        )

    def write(self, view: DataOutputView, version: int) -> None:
        if version >= MetadataVersion.OPERATOR_NAMES:
            view.write_utf(self.name)
            view.write_utf(self.uid)
        view.write_bytes(self.operator_id)
        view.write_int(self.parallelism)
        view.write_int(self.max_parallelism)
        if version < MetadataVersion.CHANNEL_STATE:
            view.write_int(self.chain_length)
        else:
            write_stream(self.coordinator_state, view)
        view.write_int(FULLY_FINISHED if self.is_finished else len(self.subtasks))
        for subtask in self.subtasks:
            subtask.write(view, version)


def _read_parallelism(view: DataInputView) -> tuple[int, int]:
    parallelism, max_parallelism = view.read_int(), view.read_int()
    if not 1 <= parallelism <= max_parallelism <= MAX_PARALLELISM:
        raise view.error(
            f"parallelism {parallelism} of max parallelism {max_parallelism},"
            f" expected 1 <= parallelism <= max parallelism <= {MAX_PARALLELISM}"
        )
    return parallelism, max_parallelism


def _read_coordinator_state(view: DataInputView) -> InlineStream | None:
    handle = read_stream(view)
    if handle is None or isinstance(handle, InlineStream):
        return handle
    raise view.error(f"coordinator state in a {type(handle).__name__}, expected inline bytes")


def _read_subtasks(view: DataInputView, version: int) -> tuple[SubtaskState, ...] | None:
    """None if the operator is finished as a whole."""
    if version >= MetadataVersion.CHANNEL_STATE and view.peek_int() == FULLY_FINISHED:
        view.read_int()
        return None
    count = view.read_count(element_size=4)
    return tuple(SubtaskState.read(view, version) for _ in range(count))


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """The content of a ``_metadata`` file; equal objects have equal bytes."""

    version: int
    checkpoint_id: int
    operators: tuple[OperatorState, ...]
    master_states: tuple[MasterState, ...] = ()
    properties: CheckpointProperties | None = None

    @classmethod
    def new(cls, operators: tuple[OperatorState, ...], checkpoint_id: int = 1) -> Self:
        """A new savepoint, in the version that every Flink from 1.11 on restores."""
        return cls(MetadataVersion.CHANNEL_STATE, checkpoint_id, operators)

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        """Raises ``NotASavepointError`` for other files, or ``UnsupportedVersionError``.

        The error of a file that a tool changed because it took it for a text says so.
        """
        start = view.position
        try:
            return cls._read(view)
        except FormatError as error:
            change = cls._change_of_text(bytes(view.buffer[start:]))
            if change:
                error.message = (
                    f"a tool that takes it for a text has written it, which {change}; get the"
                    f" original file, and copy it as binary ({error.message})"
                )
            raise

    @classmethod
    def _change_of_text(cls, data: bytes) -> str:
        """How a tool for texts has changed the bytes; empty if none did."""
        with suppress(UnicodeDecodeError):
            if _REPLACEMENT in data.decode():
                return "put EF BF BD for each byte that is no UTF-8"
        with suppress(FormatError, NotASavepointError):
            if _CRLF in data:
                cls._read(DataInputView(data.replace(_CRLF, b"\n")))
                return "put CR LF for each LF"
        return ""

    @classmethod
    def _read(cls, view: DataInputView) -> Self:
        version = _read_envelope(view)
        checkpoint_id = view.read_long()
        if checkpoint_id < 0:
            raise view.error(f"checkpoint id {checkpoint_id}, expected 0 or more")
        master_states = _MASTER_STATES.read(view)
        count = view.read_count(element_size=OperatorId.SIZE)
        operators = tuple(OperatorState.read(view, version) for _ in range(count))
        properties = None
        if version >= MetadataVersion.PROPERTIES:
            properties = CheckpointProperties.read(view)
        view.expect_end()
        return cls(version, checkpoint_id, operators, master_states, properties)

    def write(self, view: DataOutputView) -> None:
        view.write_bytes(MAGIC)
        view.write_int(self.version)
        view.write_long(self.checkpoint_id)
        _MASTER_STATES.write(view, self.master_states)
        view.write_int(len(self.operators))
        for operator in self.operators:
            operator.write(view, self.version)
        if self.properties is not None:
            self.properties.write(view)


_REPLACEMENT = "\ufffd"
_CRLF = b"\r\n"


def _read_envelope(view: DataInputView) -> int:
    start = bytes(view.buffer[: len(MAGIC)])
    if start != MAGIC[: len(start)] or not start:
        raise NotASavepointError(
            f"{view.path} begins with {start.hex(' ') or 'nothing'}, expected {MAGIC.hex(' ')}:"
            " it is no _metadata file of a savepoint or checkpoint"
        )
    view.read_bytes(len(MAGIC))
    version = view.read_int()
    if not MetadataVersion.OLDEST <= version <= MetadataVersion.NEWEST:
        view.position -= 4
        raise view.error(
            f"metadata version {version}, expected {MetadataVersion.OLDEST} to"
            f" {MetadataVersion.NEWEST}; a newer release may read it",
            UnsupportedVersionError,
        )
    return version
