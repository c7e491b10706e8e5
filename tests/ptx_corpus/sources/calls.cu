// Calls that stay calls: by value, by pointer, recursion, structs, printf, a trap.
#include <cstdio>
struct Pair { float first; int second; double third; };

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ Pair swapped(Pair p) { return {(float)p.second, (int)p.first, -p.third}; }
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float square(float x) { return x * x; }
typedef float (*Function)(float);
__device__ Function functions[2] = {twice, square};
__device__ __noinline__ void fails(int n) { if (n > 100) __trap(); }

extern "C" __global__ void calls(float *out, const Pair *pairs, int which) {
  int i = threadIdx.x;
  Pair p = swapped(pairs[i]);
  out[i] = functions[which & 1](p.first) + fibonacci(i & 7) + p.second + (float)p.third;
  fails(which);
  if (which == 7) printf("%d %f\n", i, out[i]);
}
