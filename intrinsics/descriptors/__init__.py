"""Packed fields: integers whose bit fields encode shapes, types, strides and addresses.

Here belongs what is packed into a word and unpacked from it: instruction and shared memory
descriptors, tensor memory addresses, the control words of tcgen05.mma records.
"""
