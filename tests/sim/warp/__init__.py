"""Shuffles, votes, ldmatrix, mma.sync and wmma, by the manual's figures and numpy."""
