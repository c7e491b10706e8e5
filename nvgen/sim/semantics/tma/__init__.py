"""Asynchronous copies by tensor maps (TMA), and tensor maps that kernels write.

Here belongs what has coordinates: boxes, images, where a tile goes, reductions of tiles.
"""
