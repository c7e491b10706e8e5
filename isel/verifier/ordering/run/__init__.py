"""One run of a kernel: its threads with their clocks, what they share, and the log of what they do."""
