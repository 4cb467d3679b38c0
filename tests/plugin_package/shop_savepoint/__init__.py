"""A plug-in of savepoint for the jobs of a shop."""
