"""What changes from checkpoint to checkpoint of a running job: ``watch``."""
