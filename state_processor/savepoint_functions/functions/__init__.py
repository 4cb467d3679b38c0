"""Functions that users write to make state and rows: contexts, options, the run over sorted keys."""
