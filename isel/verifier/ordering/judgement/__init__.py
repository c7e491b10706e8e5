"""Rules that judge the log of a run: races, divergence, deadlocks, unfilled memory."""
