// A GEMM as CUTLASS's collective builders put it together: one kernel for each line of a .cu.
#pragma once
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/collective/default_epilogue.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/group_array_problem_shape.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>

using namespace cute;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;
using Dense = cutlass::arch::OpClassTensorOp;
using Sparse = cutlass::arch::OpClassSparseTensorOp;
using Scaled = cutlass::arch::OpClassBlockScaledTensorOp;
using Alone = Shape<int, int, int, int>;
using Grouped = cutlass::gemm::GroupProblemShape<Shape<int, int, int>>;
using StreamK = cutlass::gemm::StreamKScheduler;

// The elements of a row: what a global address has to be aligned to, in elements.
template <class Type>
constexpr int kElements = 128 / cutlass::sizeof_bits<Type>::value;

template <class T>
struct Plain {
  using type = T;
};
template <class T, class S>
struct Plain<cute::tuple<T, S>> {
  using type = T;
};
template <class T>
  requires requires { typename T::DataType; }
struct Plain<T> {
  using type = typename T::DataType;
};

template <class Arch, class Class, class A, class LayoutA, class B, class LayoutB, class D,
          class Tile, class Cluster, class Schedule, class Epilogue, class Problem = Alone,
          class Scheduler = void, int Align = 0>
struct Gemm {
  static constexpr int kA = Align ? Align : kElements<typename Plain<A>::type>;
  static constexpr int kB = Align ? Align : kElements<typename Plain<B>::type>;
  using Store = typename cutlass::epilogue::collective::CollectiveBuilder<
      Arch, Class, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float, D,
      Rows, kElements<D>, D, Rows, kElements<D>, Epilogue>::CollectiveOp;
  using Multiply = typename cutlass::gemm::collective::CollectiveBuilder<
      Arch, Class, A, LayoutA, kA, B, LayoutB, kB, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Store::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Problem, Multiply, Store, Scheduler>;
};

#define KERNEL(...)                                                                    \
  template __global__ void cutlass::device_kernel<typename Gemm<__VA_ARGS__>::Kernel>( \
      const __grid_constant__ typename Gemm<__VA_ARGS__>::Kernel::Params);
