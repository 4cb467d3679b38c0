"""Readers of state files, one per format: headers, and the places of each state's records."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.state_files.canonical_file import END_OF_SECTION, CanonicalFile
    from savepoint_formats.state_files.canonical_file import Run as Run
    from savepoint_formats.state_files.header import (
        DISTRIBUTION_MODE,
        KEY_SERIALIZER,
        KEYED_STATE_TYPE,
        NAMESPACE_SERIALIZER,
        VALUE_SERIALIZER,
        BackendStateType,
        HeaderBytes,
        KeyedBackendHeader,
        KeyedStateType,
        OperatorBackendHeader,
        StateMetaInfo,
    )
    from savepoint_formats.state_files.heap_records import BackToBack
    from savepoint_formats.state_files.local_state import as_keyed, as_local
    from savepoint_formats.state_files.operator_state import (
        UNREADABLE,
        BroadcastEntries,
        ChangedElements,
        ListElements,
        OperatorStateFile,
        Step,
        byte_array,
        element_arrays,
        stored_elements,
        with_elements,
    )
    from savepoint_formats.state_files.raw_timers import TIMER_STATE_PREFIX
    from savepoint_formats.state_files.recognition import expect_kind
    from savepoint_formats.state_files.rocksdb.manifest import has_former_keys, version_edits
    from savepoint_formats.state_files.rocksdb.sst import BlockIndex, Sst
    from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks
    from savepoint_formats.state_files.rocksdb.sst_kernel import OK
    from savepoint_formats.state_files.rocksdb.sst_merge import Room, living_entries
    from savepoint_formats.state_files.rocksdb.sst_scan import joined_parts
    from savepoint_formats.state_files.rocksdb.states import SstFiles
    from savepoint_formats.state_files.state import (
        State,
        StateKind,
        StateNames,
        element_layout,
        entry_layouts,
        key_layout,
        keyed_state,
        keyed_states,
        namespace_layout,
        value_parts,
    )
    from savepoint_formats.state_files.state_chunk import (
        StateChunk,
        StoredSource,
        part_of,
        state_chunks_of,
    )
    from savepoint_formats.state_files.state_v2 import as_synchronous, expect_synchronous
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "DISTRIBUTION_MODE",
    "END_OF_SECTION",
    "KEYED_STATE_TYPE",
    "KEY_SERIALIZER",
    "NAMESPACE_SERIALIZER",
    "OK",
    "TIMER_STATE_PREFIX",
    "UNREADABLE",
    "VALUE_SERIALIZER",
    "BackToBack",
    "BackendStateType",
    "BlockIndex",
    "Blocks",
    "BroadcastEntries",
    "CanonicalFile",
    "ChangedElements",
    "HeaderBytes",
    "KeyedBackendHeader",
    "KeyedStateType",
    "ListElements",
    "OperatorBackendHeader",
    "OperatorStateFile",
    "Room",
    "Sst",
    "SstFiles",
    "State",
    "StateChunk",
    "StateKind",
    "StateMetaInfo",
    "StateNames",
    "Step",
    "StoredSource",
    "as_keyed",
    "as_local",
    "as_synchronous",
    "byte_array",
    "element_arrays",
    "element_layout",
    "entry_layouts",
    "expect_kind",
    "expect_synchronous",
    "has_former_keys",
    "joined_parts",
    "key_layout",
    "keyed_state",
    "keyed_states",
    "living_entries",
    "namespace_layout",
    "part_of",
    "state_chunks_of",
    "stored_elements",
    "value_parts",
    "version_edits",
    "with_elements",
]
