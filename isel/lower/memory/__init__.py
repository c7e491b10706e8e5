"""Accesses to memory: copies and atomics taken apart, neighbours joined, known contents reused."""
