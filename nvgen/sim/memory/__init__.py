"""The memories of a launch, and all accesses to them.

Regions of global and shared memory, local memories and stacks, tensor memory with its collector
buffers, the tensors that tensor maps describe, and the proxy fences of these maps.  Races are found
in `races`.
"""
