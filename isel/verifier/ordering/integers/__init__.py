"""Integers that a warp has in registers: how they are kept, computed, and read as addresses."""
