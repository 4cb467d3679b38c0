"""Backlog, then stream: a function over keyed rows, first in batch mode, then in stream mode.

A backlog is bounded and old, so it runs as a batch: its rows come sorted by key, and there is no
savepoint before its end. Its results are a savepoint and rows. The stream continues from that
savepoint, on Spark's own stateful engine. Read the modules in this order:

| module             | content                                                                   |
|--------------------|---------------------------------------------------------------------------|
| mixed_mode_job     | both phases, and the switch between them                                  |
| stream_rows        | rows on their way to the state store: a row per key and micro-batch       |
| keyed_processor    | a visit of a key: timers, rows, state                                     |
| stored_backend     | the row of a key in the state store                                       |
| switch_state       | the state of a key before its first visit; sorted_file: its files         |
| stored_rows        | from the state store, and the switch, to a savepoint                      |
| stream_function    | all of that as a query of Spark                                           |
| running_stream     | a running query, and actions of the clock                                 |
"""
