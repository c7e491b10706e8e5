"""Switches, indirect branches and phis that are rewritten: the host's values."""
