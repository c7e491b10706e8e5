"""The memories of a launch, and all accesses to them.

Regions of global and shared memory, local memories and stacks, tensor memory with its collector
buffers, and the tensors that tensor maps describe.  Races are found in `races`.
"""
