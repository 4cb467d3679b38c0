"""How a walk ends. Inside the kernel the negative ones take the place of the next position."""

from __future__ import annotations

DONE = 0
"""All that was asked for is done."""

REFUSED = -1
"""A record that the kernel does not take; the general path knows whether it is damaged."""

FULL = -2
"""No more room in the buffers."""
