"""Kernels in CUDA C++ as people write them, compiled by nvcc, and mistakes in them.

The oracle is numpy for the right ones; of the mistakes it is which kind they are of by
construction, those that compute-sanitizer's four tools are made for.
"""
