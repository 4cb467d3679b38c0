"""Existing state that is changed: replaced, renamed, removed, or passed through."""
