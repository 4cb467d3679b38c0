"""What tests share: makers of state files, jobs of a real Flink, servers, processes."""
