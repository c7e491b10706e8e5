"""Convergent instructions of a warp: shuffles, votes, matrices, mma.sync and wmma.

They are complete when they return.
"""
