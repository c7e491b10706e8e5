// libcu++'s pipelines, barriers, bulk copies and asynchronous groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/ptx>
#include <cuda/std/utility>

namespace cg = cooperative_groups;
constexpr int kStages = 3, kTile = 256;

// Two stages that all threads of the block fill and use in turn.
__global__ void __launch_bounds__(kTile) unified(const float* from, float* to, int tiles) {
  __shared__ float stages[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int use = 0, fill = 0; use < tiles; ++use) {
    for (; fill < tiles && fill < use + kStages; ++fill) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stages[fill % kStages], from + fill * kTile,
                         cuda::aligned_size_t<16>(sizeof(float) * kTile), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stages[use % kStages][(threadIdx.x + 1) % kTile];
    pipe.consumer_release();
  }
  to[blockIdx.x * kTile + threadIdx.x] = sum;
}

// Half of the block fills, the other half uses.
__global__ void __launch_bounds__(2 * kTile) parted(const float* from, float* to, int tiles) {
  __shared__ float stages[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto role = threadIdx.x < kTile ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  if (role == cuda::pipeline_role::producer) {
    for (int turn = 0; turn < tiles; ++turn) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stages[turn % kStages][threadIdx.x], from + turn * kTile + threadIdx.x,
                         sizeof(float), pipe);
      pipe.producer_commit();
    }
  } else {
    float sum = 0;
    int thread = threadIdx.x - kTile;
    for (int turn = 0; turn < tiles; ++turn) {
      pipe.consumer_wait();
      sum += stages[turn % kStages][(thread + 1) % kTile];
      pipe.consumer_release();
    }
    to[blockIdx.x * kTile + thread] = sum;
  }
}

// A pipeline of each thread's own, by groups of cp.async.
__global__ void __launch_bounds__(kTile) alone(const int4* from, int4* to, int tiles) {
  __shared__ int4 stages[2][kTile];
  auto pipe = cuda::make_pipeline();
  for (int turn = 0; turn < tiles; ++turn) {
    pipe.producer_acquire();
    cuda::memcpy_async(&stages[turn % 2][threadIdx.x], from + turn * kTile + threadIdx.x,
                       cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    if (turn) {
      cuda::pipeline_consumer_wait_prior<1>(pipe);
      to[(turn - 1) * kTile + threadIdx.x] = stages[(turn + 1) % 2][threadIdx.x];
      pipe.consumer_release();
    }
  }
}

// A bulk copy that a barrier of libcu++ counts, and a bulk store behind a proxy fence.
__global__ void __launch_bounds__(kTile) bulk(const int* from, int* to, int turns) {
  __shared__ alignas(128) int tile[kTile];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  for (int turn = 0; turn < turns; ++turn) {
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
      cuda::memcpy_async(tile, from + turn * kTile, cuda::aligned_size_t<16>(sizeof(tile)),
                         barrier);
      token = cuda::device::barrier_arrive_tx(barrier, 1, 0);
    } else {
      token = barrier.arrive();
    }
    barrier.wait(cuda::std::move(token));
    tile[threadIdx.x] += 1;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared,
                               to + turn * kTile, tile, sizeof(tile));
      cuda::ptx::cp_async_bulk_commit_group();
      cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
    __syncthreads();
  }
}

// A barrier with a completion function, by which a count of arrivals drops; and parities.
struct Next {
  int* turn;
  __device__ void operator()() { *turn += 1; }
};

__global__ void __launch_bounds__(128) completions(int* to) {
  __shared__ int turn;
  __shared__ alignas(16) char room[sizeof(cuda::barrier<cuda::thread_scope_block, Next>)];
  auto* barrier = reinterpret_cast<cuda::barrier<cuda::thread_scope_block, Next>*>(room);
  if (threadIdx.x == 0) {
    turn = 0;
    new (barrier) cuda::barrier<cuda::thread_scope_block, Next>(blockDim.x, Next{&turn});
  }
  __syncthreads();
  if (threadIdx.x >= 96) {
    barrier->arrive_and_drop();
    return;
  }
  barrier->arrive_and_wait();
  barrier->arrive_and_wait();
  to[threadIdx.x] = turn;
}

// Cooperative groups: tiles, partitions, reductions, memcpy_async and a cluster's memory.
__global__ void __cluster_dims__(2) __launch_bounds__(128) groups(const float* from, float* to) {
  __shared__ float tile[128];
  __shared__ float sums[4];
  auto block = cg::this_thread_block();
  auto cluster = cg::this_cluster();
  cg::memcpy_async(block, tile, from + blockIdx.x * 128, sizeof(tile));
  cg::wait(block);
  auto warp = cg::tiled_partition<32>(block);
  float sum = cg::reduce(warp, tile[threadIdx.x], cg::plus<float>());
  auto odd = cg::binary_partition(warp, threadIdx.x & 1);
  sum += cg::reduce(odd, tile[threadIdx.x], cg::greater<float>());
  if (warp.thread_rank() == 0) sums[warp.meta_group_rank()] = sum;
  cluster.sync();
  float* other = cluster.map_shared_rank(sums, cluster.block_rank() ^ 1);
  if (threadIdx.x < 4) to[blockIdx.x * 4 + threadIdx.x] = other[threadIdx.x] + sums[threadIdx.x];
  cluster.sync();
}

// A grid that waits for itself, a semaphore in global memory, and a barrier of the device.
__global__ void grid(int* numbers, cuda::counting_semaphore<cuda::thread_scope_device>* free,
                     cuda::barrier<cuda::thread_scope_device>* all) {
  auto grid = cg::this_grid();
  if (threadIdx.x == 0) {
    free->acquire();
    numbers[0] += 1;
    free->release();
  }
  grid.sync();
  all->arrive_and_wait();
  numbers[grid.thread_rank() + 1] = numbers[0];
}
