"""Faults of writing: what writes is killed at random points of its life.

``python -m faults`` runs rounds and strikes; ``tests/spark/test_faults.py`` and ``tests/unit/test_strikes.py`` a few.
"""
