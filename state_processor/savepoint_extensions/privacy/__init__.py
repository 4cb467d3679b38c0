"""Masks of values, and values that are looked for."""
