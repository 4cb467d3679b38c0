"""Single values: numbers, texts, times, and the bytes that stand for what is not decoded."""
