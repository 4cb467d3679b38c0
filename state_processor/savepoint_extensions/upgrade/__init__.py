"""Another release of Flink, or another job: whether it restores a savepoint, and a migrated one."""
