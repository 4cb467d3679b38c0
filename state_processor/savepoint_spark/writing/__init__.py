"""Rows become runs, and runs become the files of an operator."""
