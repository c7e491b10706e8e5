"""A call of nvgen by a user: its line of Python, whether its arguments fit, how it is refused."""
