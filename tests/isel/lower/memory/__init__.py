"""Copies, masks and odd accesses to memory that are rewritten: the host's bytes."""
