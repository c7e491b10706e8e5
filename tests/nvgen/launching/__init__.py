"""Arguments, tensor maps and shapes of launches: what is taken, and what is refused."""
