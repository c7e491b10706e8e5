"""Floating-point instructions, conversions and intrinsics to records."""
