"""Layouts of matrices in shared memory, in tensor memory and in registers.

Here belongs arithmetic that takes an element to its byte, cell, lane and register, or back:
swizzling, canonical layouts, data paths, fragments of threads, packing of narrow types, where
scale factors and metadata lie.  The words that tell the machine of a layout are in `descriptors`.
"""
