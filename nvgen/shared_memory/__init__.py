"""Shared memory: tiles, mbarriers, rings of buffers, copies of tiles, reductions over a CTA."""
