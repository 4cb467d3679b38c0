"""How a walk ends. Inside the kernel, negative statuses take the place of the next position."""

from __future__ import annotations

DONE = 0
"""The work is done."""

REFUSED = -1
"""The kernel does not take a record; the general path knows whether it is damaged."""

FULL = -2
"""The buffers have no more room."""
