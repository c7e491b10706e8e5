"""Passes over machine records: dead code, leaving SSA form, layout of blocks."""
