"""Multiplies of tiles on every target: products are numpy's, instructions as expected."""
