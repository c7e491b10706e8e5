// Branch tables, loops within loops, a local array, early exits, inline PTX with scopes and labels.
extern "C" __global__ void interpret(const int *code, int *out, int n) {
  int stack[16];
  int top = 0, value = threadIdx.x;
#pragma unroll 1
  for (int at = 0; at < n; at++) {
    switch (code[at]) {
      case 0: stack[top++ & 15] = value; break;
      case 1: value += stack[--top & 15]; break;
      case 2: value *= 3; break;
      case 3: value = ~value; break;
      case 4: value = value >> 1; break;
      case 5: value = __clz(value) + __brev(value); break;
      case 6: value ^= out[value & 31]; break;
      case 7: value = __byte_perm(value, at, 0x3210); break;
      case 8: out[threadIdx.x] = value; return;
      default: value -= 1;
    }
  }
  out[threadIdx.x] = value;
}

extern "C" __global__ void spin(volatile int *flag, int *out) {
  asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 seen;\n"
               "again:\n\tld.acquire.gpu.global.b32 seen, [%0];\n\tsetp.eq.u32 p, seen, 0;\n"
               "\t@p bra again;\n\t{\n\t.reg .b32 seen;\n\tmov.u32 seen, 7;\n\tst.global.u32 [%1], seen;\n\t}\n}"
               :: "l"(__cvta_generic_to_global((void *)flag)), "l"(__cvta_generic_to_global(out)) : "memory");
  asm volatile("{\n\t.reg .pred p;\nagain:\n\tsetp.ne.u32 p, %0, 1;\n\t@!p bra done;\n\tbra.uni again;\ndone:\n}" :: "r"(out[1]));
}
