"""A module as MIR, and the statements that are read and printed."""

from __future__ import annotations

import textwrap

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir

EXAMPLE = """\
; comments begin with a semicolon
target sm_100a
ptx 8.6
source "gemm.ll"
extern shared @smem : size 0 align 1024
global @scale : size 4 align 4 = 0x0000803f

kernel @gemm(
  param @gemm_a : b8 size 128 align 64 constant,
  param @gemm_d : u64 size 8 align 8 ptr global 16
) reqntid 128 1 1 cluster 2 maxnreg 64 {
bb.entry:
  %tid:b32 = MOV_U32 sreg:tid.x !1
  %first:pred, _ = SETP_EQ_S32 %tid, imm:0
  @%first:pred BRA bb.once
bb.loop:                                       ; preds: bb.entry, bb.once
  %0:b64 = LD_PARAM_B64 [@gemm_d]
  %x:f32 = MOV_F32 fimm:0f3F800000
  ST_GLOBAL_B32 [%0:b64-16], %tid
  {%w:f32, %y:f32} = MOV_UNPACK2_B64 %0
  RET
bb.once:
  OPAQUE text:"nanosleep.u32 100"
  TCGEN05_MMA_CTA_GROUP1_DENSE
      d:         %tid
      a:         %0
      b:         %0
      idesc:     imm:136314896
      ctrl:      imm:193
      collector: imm:1
      enable_d:  !%first
  @!%first BRA bb.loop
}

!1 = "gemm.ll":42:3 from "gemm.py":118
"""


def printed(text: str) -> str:
    return print_mir(read_mir(textwrap.dedent(text))).text
