"""A round trip of everything: state as rows, written back with the types it has, read again.

    PYTHONPATH=tests:formats:state_processor:cli python -m round_trip sample_savepoints ../corpus

Each folder of ``_metadata`` below those is opened. Every state of it becomes a DataFrame and is
written back by ``with_state``, all of them in one savepoint, whose rows are then compared with the
first ones. What is refused is told with the reason. ``--results FILE`` counts what became of
savepoints, kinds and types, for the page of compatibility.
"""
