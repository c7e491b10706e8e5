"""Layouts named by options: fragments, matrices in shared and tensor memory, for `draw` and `explain`."""
