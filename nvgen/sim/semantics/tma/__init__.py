"""TMA: bulk tensor copies, and tensor maps that kernels write.

Boxes and im2col, destinations of tiles, reductions of tiles.
"""
