"""Existing state on its way into another savepoint, as bytes."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.pass_through.changed_entries import (
        ChangedHandles,
        EntryChange,
        EntryChanges,
        GatheringChange,
    )
    from savepoint_formats.pass_through.copied_sections import PlacedRuns, StoredSections
    from savepoint_formats.pass_through.divided_entries import (
        DividedEntries,
        KeyChoice,
        ListedKeys,
        SampledKeys,
        decoded_keys,
        encoded_keys,
        encoded_visible_keys,
        sample_hashes,
    )
    from savepoint_formats.pass_through.merged_instances import LocalSections, MergedInstances
    from savepoint_formats.pass_through.new_key_groups import KeyGroups as KeyGroups
    from savepoint_formats.pass_through.new_key_groups import KeyPlaces, NewKeyGroups, stored_size
    from savepoint_formats.pass_through.recoded_entries import (
        RecodedStates,
        decoded,
        may_hold_name,
        recoded,
        renamed,
    )
    from savepoint_formats.pass_through.stored_states import PassThrough, StoredStates, stored_runs
    from savepoint_formats.pass_through.times_of_access import (
        timed_values,
        with_access_times,
        without_access_times,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "ChangedHandles",
    "DividedEntries",
    "EntryChange",
    "EntryChanges",
    "GatheringChange",
    "KeyChoice",
    "KeyPlaces",
    "ListedKeys",
    "LocalSections",
    "MergedInstances",
    "NewKeyGroups",
    "PassThrough",
    "PlacedRuns",
    "RecodedStates",
    "SampledKeys",
    "StoredSections",
    "StoredStates",
    "decoded",
    "decoded_keys",
    "encoded_keys",
    "encoded_visible_keys",
    "may_hold_name",
    "recoded",
    "renamed",
    "sample_hashes",
    "stored_runs",
    "stored_size",
    "timed_values",
    "with_access_times",
    "without_access_times",
]
