"""State of sinks: commits that a restored job will repeat, and the state of writers.

| state                            | operator                              | element                    |
|----------------------------------|---------------------------------------|----------------------------|
| `streaming_committer_raw_states` | committer of a sink V2, list          | a `CommitterState`         |
| `global_committer_raw_states`    | global committer of a sink V2, list   | a `CommitterState`         |
| `writer_raw_states`              | writer of a sink V2, list             | state of the connector     |
"""
