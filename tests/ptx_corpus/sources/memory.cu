// State spaces, initialisers, linkage, textures and surfaces, managed memory, kernel attributes.
struct Params { int n; float scale[3]; short tag; };
__constant__ float table[5] = {1.0f, -2.5f, 3.25f};
__constant__ double wide = 1e300;
__device__ short matrix[2][3] = {{1, 2, 3}, {4, 5}};
__device__ __managed__ int shared_with_host = 42;
__device__ const char text[] = "a\"b;{\n";
__device__ short *pointer = &matrix[0][1];
__device__ unsigned long long big = 0xfedcba9876543210ull;
__device__ __align__(64) unsigned char aligned[100];
extern __shared__ __align__(128) unsigned char dynamic[];

extern "C" __global__ void __launch_bounds__(256, 2) spaces(const __grid_constant__ Params p, float4 *out,
                                                            const float4 *__restrict__ in) {
  __shared__ float tile[4][33];
  int i = threadIdx.x;
  tile[i & 3][i & 31] = table[i % 5] + (float)wide + matrix[i & 1][i % 3] + text[i % 6];
  __syncthreads();
  float4 v = __ldg(in + i);
  v.x += tile[0][i & 31] * p.scale[i % 3];
  v.y += dynamic[i];
  v.z += *pointer + (float)big;
  v.w += aligned[i % 100] + p.tag;
  __stcs(out + i, v);

  shared_with_host = p.n;
}

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float *out) {
  float4 v = tex2D<float4>(t, threadIdx.x * 0.5f, 1.0f);
  float w = tex1Dfetch<float>(t, threadIdx.x);
  int r = surf2Dread<int>(s, threadIdx.x * 4, 0);
  surf2Dwrite(r + 1, s, threadIdx.x * 4, 1);
  out[threadIdx.x] = v.x + v.y + w;
}
