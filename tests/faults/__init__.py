"""Faults of writing: what writes is killed at random points of its life.

``python -m faults`` runs rounds; ``tests/spark/test_faults.py`` a few of them.
"""
