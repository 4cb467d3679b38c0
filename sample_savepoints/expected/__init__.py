"""What the jobs must have in their state, computed from the input by what the jobs do.

Nothing here reads a savepoint: it is the second opinion that readers are tested against.
"""

from __future__ import annotations

from .document import expected_json

__all__ = ["expected_json"]
