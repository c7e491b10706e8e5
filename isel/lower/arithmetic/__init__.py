"""Arithmetic that the machine has not, or has slower: as instructions that it has."""
