"""Key groups and subtasks, and the ids of operators."""
