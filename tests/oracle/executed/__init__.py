"""What the simulator makes of tcgen05.mma, compared with exact references, cell by cell.

Programs of one or two instructions are drawn at random: every kind, type, shape, layout and
modifier that the manual allows.  The bytes of A and B, scale factors and metadata are put where
`tests/intrinsics/published` says, all cells of tensor memory are given and all are compared.
Nothing here imports the library's layouts or its simulator.
"""
