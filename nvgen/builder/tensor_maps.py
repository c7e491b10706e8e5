"""The builder's verbs for tensor maps that a kernel writes.

Layer: nvgen.builder.  PTX ISA, tensormap.replace, tensormap.cp_fenceproxy.  A kernel changes the
fields of a map in shared or global memory, copies it to global memory with the fence that copies by
TMA need, and acquires it there (`fence_proxy_tensormap_acquire`) before it uses it.
"""

from __future__ import annotations

from intrinsics.modifiers import MapField, Scope, Space
from intrinsics.row import Fact
from intrinsics.rows.tensormap import REPLACES, type_of
from nvgen.builder.intrinsics import IntrinsicCalls, Operand
from nvgen.builder.values import Int, IntLike, Pointer
from nvgen.tensor_map import SIZE

_SPACES = {1: Space.GLOBAL, 3: Space.SHARED_CTA}


class TensorMapVerbs(IntrinsicCalls):
    """Calls of the intrinsics that change tensor maps."""

    def tensormap_replace(
        self, tmap: Pointer, field: MapField, new: IntLike | Pointer, *, dim: int | None = None
    ) -> None:
        """Replace a field of the tensor map of 128 bytes at `tmap`, in tiled mode.

        global_address (a pointer, or its number) and global_stride (in bytes) have 64 bits, the
        others 32; rank is written as the rank less 1.  box_dim, global_dim, global_stride and
        element_stride are those of dimension `dim` in 0..4; elemtype, interleave_layout,
        swizzle_mode, fill_mode and swizzle_atomicity are codes, which are numbers.

        Raises: InputError where `dim` is missing or too much, or a code is no number.
        """
        facts: dict[str, Fact] = {"field": field, "space": _SPACES.get(tmap.space)}
        facts["type"] = type_of(field)
        row = next(row for row in REPLACES if field in row.axis["field"].values)
        operands: dict[str, Operand] = {"a": tmap}
        if dim is not None:
            operands["ord"] = dim
        if isinstance(new, Pointer):
            new = Int(self, self.at_caller().ptrtoint(new.value, self.int_type(64)))
        operands[row.operands[-1].name] = new
        self._call(row.id, facts, operands)

    def tensormap_cp_fenceproxy(self, dst: Pointer, src: Pointer, scope: Scope = Scope.GPU) -> None:
        """Copy the tensor map at `src` (shared memory) to `dst` (global memory), and hand it on.

        The threads of a whole warp execute it together.
        """
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": SIZE}
        self._call("tensormap.cp_fenceproxy", {"scope": scope}, operands)
