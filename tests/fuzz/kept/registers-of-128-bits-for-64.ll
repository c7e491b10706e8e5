; fuzz:
define ptx_kernel void @k() {
  %x = call double asm sideeffect "mov.b128 $0, $1;", "=q,q"(double 7.0)
  ret void
}
