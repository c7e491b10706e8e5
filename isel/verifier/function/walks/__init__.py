"""Walks of automata over a warp's flow, and what they distinguish to avoid infeasible paths."""
