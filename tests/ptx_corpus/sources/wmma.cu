// Tensor cores of sm_80: asynchronous copies, ldmatrix, mma.sync, wmma.
#include <mma.h>
#include <cuda_pipeline.h>
using namespace nvcuda;
extern "C" __global__ void multiply(const half *a, const half *b, float *d) {
  __shared__ __align__(16) half tile[16 * 16];
  int i = threadIdx.x;
  __pipeline_memcpy_async(tile + 8 * i, a + 8 * i, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fd;
  wmma::fill_fragment(fd, 0.0f);
  wmma::load_matrix_sync(fa, tile, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fd, fa, fb, fd);
  wmma::store_matrix_sync(d, fd, 16, wmma::mem_row_major);
  unsigned r[4], address = __cvta_generic_to_shared(tile + 8 * i);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[0]), "r"(r[1]));
  for (int j = 0; j < 4; j++) d[256 + 4 * i + j] = c[j];
}
