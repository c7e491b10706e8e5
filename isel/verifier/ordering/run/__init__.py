"""One run of a kernel: its threads with their clocks, what they share, the log of what they do."""
