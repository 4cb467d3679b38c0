"""Whether a key's state lies in one subtask or in each."""

from __future__ import annotations

from savepoint_formats.state_files.local_state import KeyScope


def test_a_scope_says_whether_it_is_local() -> None:
    assert KeyScope.LOCAL.is_local
    assert not KeyScope.KEYED.is_local
