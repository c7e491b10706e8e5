"""Threads, branches, calls, barriers and limits of a run, and reports of those that do not end."""
