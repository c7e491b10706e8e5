"""Tensor memory and its multiplies: tcgen05 in all its forms (sm_100 and later).

Here belongs tcgen05 alone: allocation, copies, loads and stores, multiplies, commits.
"""
