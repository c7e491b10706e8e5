"""Integer instructions, against Python's integers."""
