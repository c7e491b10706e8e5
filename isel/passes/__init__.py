"""Passes over machine records: dead code, walkthroughs, leaving SSA form, layout of blocks."""
