"""Running jobs: their snapshots, by Flink's REST interface or as Kubernetes knows them."""
