"""Key groups, subtasks and ids of operators."""
