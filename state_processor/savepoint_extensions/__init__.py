"""What the core can do without: subjects with their bytes, verbs and commands, a folder each."""
