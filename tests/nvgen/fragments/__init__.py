"""Matrices in registers: their numbers and epilogues, against numpy."""
