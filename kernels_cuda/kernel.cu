// The entry point: one CTA, from its tile to the last global store. Specialised by gpusim/hardware/specialise.py.
#include "epilogue.cuh"
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

extern "C" __global__ void __launch_bounds__(gpusim::kThreads) gpusim_kernel(Params params) {
  using namespace gpusim;

  Tile const tile = ThreadblockSwizzle::tile_of_block(block_x(), block_y(), block_z());
  if (!tile.exists()) return;
  int const thread = thread_index(), warp = warp_index(), lane = thread % kWarpSize;
  int const k_iterations = gemm_k_iterations(params.k_iterations, tile.slice);
#if defined(GPUSIM_TRACE)
  Recorder recorder(params, warp, lane);
#elif defined(GPUSIM_TIMELINE)
  Recorder recorder(params, warp, lane, k_iterations);
#else
  Recorder recorder;
#endif

  IteratorA iterator_a(params.a, tile.m, tile.slice, thread);
  IteratorB iterator_b(params.b, tile.n, tile.slice, thread);
  Accumulators accumulators;
  uint32 const base = shared_base();
  Mainloop mainloop(base, thread, warp, k_iterations, iterator_a, iterator_b, recorder);
  mainloop(accumulators);

  // The source is read by slice 0 when beta is not 0, and by later slices, which add to what the slice before stored.
  constexpr bool kFirstSliceReadsSource = !GPUSIM_BETA_IS_ZERO;
  Epilogue epilogue(base, thread, warp, tile, recorder);
  if constexpr (kSplitKSlices > 1) {
    Semaphore const semaphore(params.semaphore, tile);
    semaphore.wait(tile.slice, lane);
    if (kFirstSliceReadsSource || tile.slice) {
      void const* const source = tile.slice ? params.output : params.source;
      epilogue.run<true>(accumulators, source, params.output, params.alpha, tile.slice ? 1.0f : params.beta);
    } else {
      epilogue.run<false>(accumulators, nullptr, params.output, params.alpha, 0.0f);
    }
    semaphore.release(lane);
  } else {
    epilogue.run<kFirstSliceReadsSource>(accumulators, params.source, params.output, params.alpha, params.beta);
  }
  GPUSIM_RECORD(finish());
  GPUSIM_STAMP(kernel_end());
}
