"""Support of tests: makers of state files, jobs of a real Flink, servers, processes."""
