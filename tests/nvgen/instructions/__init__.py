"""Verbs, branches and roles in Python, by the instructions that they become."""
