"""Seeded faults, and the tests that find them: how much the other tests can see."""
