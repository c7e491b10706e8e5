"""Packed fields: words whose bits tell an instruction of shapes, types, strides and places.

Here belongs what is packed into a word and unpacked from it: instruction and shared memory
descriptors, tensor memory addresses, the control words of tcgen05.mma records.
"""
