"""Packed fields and descriptors in registers: rules of the manual's tables."""
