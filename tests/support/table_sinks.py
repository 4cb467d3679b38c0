"""Committables that the serializers of Iceberg 1.9.2 and Paimon 1.2.0 write, for Flink 1.20.

``tests/flink/table_sinks`` prints them.
"""

from __future__ import annotations

COMMITTABLES = {
    "iceberg": bytes.fromhex(
        "000000010000002d000430306666000566696c6573000000000000000900000014000000020000000c0000000000"
        "00000000000000"
    ),
    "iceberg_empty": bytes.fromhex(
        "0000000100000019000430306666000566696c6573000000000000000900000000"
    ),
    "paimon": bytes.fromhex(
        "000000040000002e000000000000000900000000000000004d000000000000000100056f776e6572000473686f70"
        "0000000700000000"
    ),
    "paimon_without_watermark": bytes.fromhex(
        "0000000400000019000000000000000a0100000000000000000000000700000000"
    ),
}
