"""Faults that are planted in real samples, and what the commands must say of each."""
