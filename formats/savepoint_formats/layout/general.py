"""Nodes that only the general path can read."""

from __future__ import annotations

from savepoint_formats.layout.node import Layout, node


@node
class KryoRegistration:
    """A class that Kryo writes as a number.

    ``serializer`` is the name of a custom serializer class, or empty.
    """

    class_name: str
    serializer: str = ""


@node
class Kryo(Layout):
    """An object graph of Kryo; its version (2.24 or 5.6) is that of the savepoint's Flink.

    ``registrations`` are the snapshot's, in order; their numbers follow the built-in ones.
    """

    class_name: str
    registrations: tuple[KryoRegistration, ...] = ()


@node
class JavaObject(Layout):
    """A Java serialization stream with a header of its own."""


@node
class Opaque(Layout):
    """Bytes up to the end of the value that holds them, because ``reason``."""

    class_name: str
    reason: str

    @property
    def note(self) -> str:
        """The reason, behind the class if there is one."""
        return f"{self.class_name}: {self.reason}" if self.class_name else self.reason
