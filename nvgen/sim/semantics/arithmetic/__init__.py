"""Arithmetic of registers, 32 lanes at a time: integers, floating point, conversions.

Here belongs what computes from registers into registers, lane by lane, and IEEE 754 itself.
"""
