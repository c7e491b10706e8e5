// Integer and floating-point arithmetic of every kind that C++ gives: divisions, bits, 128 bits, math.
extern "C" __global__ void integers(const long long *a, const int *b, long long *out, int n) {
  int i = threadIdx.x;
  long long x = a[i], y = b[i];
  __int128 wide = (__int128)x * y + n;
  out[0] = x / (y | 1) + x % (y | 3);
  out[1] = (long long)(wide >> 64);
  out[2] = __mulhi(b[i], n) + __umul24(n, i) + __sad(n, i, 3u) + __usad(1, 2, 3);
  out[3] = __popcll(x) + __ffsll(y) + __brevll(x) + __clzll(y);
  out[4] = __funnelshift_l(n, i, 5) + __dp4a(n, i, 7) + __vadd4(n, i) + __vmaxs2(n, i);
  out[5] = min(x, y) + max((int)x, n) + abs(n) + (short)n * (char)i;
  out[6] = (unsigned)n / 7u + n % 10;
}

extern "C" __global__ void floats(const float *a, const double *b, float *out, double *wide) {
  int i = threadIdx.x;
  float x = a[i];
  double y = b[i];
  out[0] = sinf(x) + __cosf(x) + sqrtf(x) + rsqrtf(x) + __fdividef(x, 3) + x / (x + 1);
  out[1] = fmaf(x, x, 1) + copysignf(x, -1) + floorf(x) + rintf(x) + truncf(x) + tanhf(x);
  out[2] = __fadd_rz(x, 1) + __fmul_ru(x, 3) + __frcp_rd(x) + fminf(x, 0) + __saturatef(x) + __log2f(x);
  out[3] = isnan(x) ? (float)__float2int_rz(x) : (float)(unsigned char)x + __int_as_float(i) + (float)(long long)y;
  wide[0] = y * y + 1 / y + sqrt(y) + (double)x + fmod(y, 3.0) + exp(y) + __dadd_rd(y, 1) + (double)i;
}
