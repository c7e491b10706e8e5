"""Layouts that options name: fragments, matrices in memory; `draw` and `explain` show them."""
