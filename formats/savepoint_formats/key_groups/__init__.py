"""Key groups and subtasks, and ids of operators."""
