; fuzz:
define ptx_kernel void @k() {
  %x = call i32 asm sideeffect "st.global.u32 [$0+28], $0;", "=r,0"(i32 7)
  ret void
}
