"""What the log of a run says, and by which rule: races, divergence, deadlocks, what is unfilled."""
