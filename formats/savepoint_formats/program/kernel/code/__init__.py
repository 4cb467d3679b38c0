"""Translates functions of the kernel to machine code, keeps it, and calls it or Python."""
