"""Tiles, rings and reductions in Python: bytes as the layouts say, values as numpy's."""
