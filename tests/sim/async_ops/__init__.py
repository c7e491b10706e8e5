"""Asynchronous operations under every schedule: ordered ones are right, others go wrong."""
