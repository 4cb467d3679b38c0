"""Single values: numbers, texts, times, and bytes that are not decoded."""
