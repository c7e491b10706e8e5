"""What the log of a run says: races, divergence, deadlocks, what nothing filled; and by which rule."""
