"""Vectors: what is done to all their elements is done to each, or to those that a mask names."""
