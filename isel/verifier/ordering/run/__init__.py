"""The state of one run: its threads with their clocks, what they share, the log of what they do."""
