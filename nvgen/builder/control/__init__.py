"""Which threads execute what: branches, loops, roles, functions on the device."""
