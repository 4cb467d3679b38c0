"""SQL jobs whose query changes: the fate of their state, and its new form."""
