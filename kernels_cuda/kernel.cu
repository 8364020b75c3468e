// The entry point: one CTA, from its tile to the last global store. Specialised by gpusim/families/gemm/specialise.py.
#include "epilogue.cuh"
#include "extents.cuh"
#include "mma.cuh"
#if GPUSIM_PIPELINED
#include "pipelined.cuh"
#else
#include "multistage.cuh"
#endif
#include "params.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"
#include "threadblock_swizzle.cuh"

using gpusim::Params;
#if GPUSIM_PIPELINED
using Mainloop = gpusim::Pipelined;
#else
using Mainloop = gpusim::Multistage;
#endif

#if defined(GPUSIM_RUN_TIME_EXTENTS)
extern "C" __global__ void __launch_bounds__(gpusim::kThreads)
    gpusim_kernel(Params params, gpusim::Extents const extents) {
  using namespace gpusim;
#else
extern "C" __global__ void __launch_bounds__(gpusim::kThreads) gpusim_kernel(Params params) {
  using namespace gpusim;
  Extents const extents{};
#endif

  Tile const tile = ThreadblockSwizzle::tile_of_block(extents.log_tile, block_x(), block_y(), block_z());
  if (!exists(tile, extents)) return;
  int const thread = thread_index(), warp = warp_index(), lane = thread % kWarpSize;
  int const k_iterations = gemm_k_iterations(extents, params.k_iterations, tile.slice);
#if defined(GPUSIM_TRACE)
  Recorder recorder(params, linear_block(extents, block_x(), block_y(), block_z()), kWarps, warp, lane);
#elif defined(GPUSIM_TIMELINE)
  Recorder recorder(params, extents, warp, lane, k_iterations);
#else
  Recorder recorder;
#endif

  IteratorA iterator_a(extents, params.a, tile.m, tile.slice, thread);
  IteratorB iterator_b(extents, params.b, tile.n, tile.slice, thread);
  Accumulators accumulators;
  uint32 const base = shared_base();
  Mainloop mainloop(base, thread, warp, k_iterations, iterator_a, iterator_b, recorder);
  mainloop(accumulators);

  // The source is read by slice 0 when beta is not 0, and by later slices, which add to what the slice before stored.
  // Bias and relu wait for the last slice.
  constexpr bool kFirstSliceReadsSource = !GPUSIM_BETA_IS_ZERO;
  Epilogue epilogue(extents, base, thread, warp, tile, recorder);
  if constexpr (kReduces) {
    epilogue.run(accumulators, nullptr, params.partial, nullptr, StoreAsIs());
  } else if constexpr (kSplitKSlices > 1) {
    Semaphore const semaphore(params.semaphore, extents, tile);
    semaphore.wait(tile.slice, lane);
    void const* const source = tile.slice ? params.output : params.source;
    float const beta = tile.slice ? 1.0f : params.beta;
    if ((kHasBias || kHasRelu) && tile.slice == kSplitKSlices - 1) {
      Epilogue::Op<true, kHasBias, kHasRelu> const op{params.alpha, beta};
      epilogue.run(accumulators, source, params.output, params.bias, op);
    } else if (kFirstSliceReadsSource || tile.slice) {
      Epilogue::Op<true, false, false> const op{params.alpha, beta};
      epilogue.run(accumulators, source, params.output, nullptr, op);
    } else {
      Epilogue::Op<false, false, false> const op{params.alpha, 0.0f};
      epilogue.run(accumulators, nullptr, params.output, nullptr, op);
    }
    semaphore.release(lane);
  } else {
    Epilogue::Op<kFirstSliceReadsSource, kHasBias, kHasRelu> const op{params.alpha, params.beta};
    epilogue.run(accumulators, params.source, params.output, params.bias, op);
  }
  GPUSIM_RECORD(finish());
  GPUSIM_STAMP(kernel_end());
}
