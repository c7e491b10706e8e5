"""Attention for Hopper (sample 14) and Blackwell, over packed sequences, in fp8, decoding."""
