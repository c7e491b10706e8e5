"""Matrices in the registers of several threads, to compute with and to store."""
