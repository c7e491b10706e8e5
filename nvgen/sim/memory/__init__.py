"""The memories of a launch: bytes and cells, where they lie, and the one way to reach them.

Here belongs what holds state that instructions read and write: regions of global and shared memory,
local memories and stacks, tensor memory with its collector buffers, and the tensors that tensor
maps describe.  Who may access them without a race is the question of `races`.
"""
