"""D = A·B + D of whole tiles: in registers of warps and warpgroups, or in tensor memory."""
