// Half, bfloat, packed pairs, fp8, fp6, fp4.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#if __CUDA_ARCH__ >= 1000
#include <cuda_fp6.h>
#include <cuda_fp4.h>
#endif
extern "C" __global__ void halves(const __half2 *a, __half2 *b, const __nv_bfloat162 *c, __nv_bfloat162 *d) {
  int i = threadIdx.x;
  b[i] = __hfma2(a[i], b[i], __hmax2(a[i], __float2half2_rn(0.5f)));
  d[i] = __hadd2(c[i], __hmul2(d[i], c[i]));
  if (__hgt(__low2half(a[i]), __high2half(a[i]))) b[i + 32] = h2exp2(a[i]);
  atomicAdd(b + 64, a[i]);
  d[i + 32] = __floats2bfloat162_rn(__half2float(__low2half(a[i])), __bfloat162float(c[i].x));
}

extern "C" __global__ void eighths(const float2 *in, __nv_fp8x2_storage_t *out, float2 *back) {
  int i = threadIdx.x;
  out[2 * i] = __nv_cvt_float2_to_fp8x2(in[i], __NV_SATFINITE, __NV_E4M3);
  out[2 * i + 1] = __nv_cvt_float2_to_fp8x2(in[i], __NV_SATFINITE, __NV_E5M2);
  __half2_raw h = __nv_cvt_fp8x2_to_halfraw2(out[2 * i], __NV_E4M3);
  back[i] = __half22float2(*(__half2 *)&h);
}
#if __CUDA_ARCH__ >= 1000
extern "C" __global__ void fourths(const float2 *in, unsigned char *out, unsigned short *six) {
  int i = threadIdx.x;
  out[i] = __nv_cvt_float2_to_fp4x2(in[i], __NV_E2M1, cudaRoundNearest);
  six[i] = __nv_cvt_float2_to_fp6x2(in[i], __NV_E2M3, cudaRoundNearest);
}
#endif
