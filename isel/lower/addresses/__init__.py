"""Addresses: the spaces they are in, and what is computed once for neighbouring ones."""
