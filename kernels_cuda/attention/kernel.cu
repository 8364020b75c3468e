// The entry point of attention: one CTA, a block of queries of one head. Specialised by
// gpusim/families/attention/cuda.py.
#include "attention/launch.cuh"
#include "extents.cuh"
#include "attention/shape.cuh"
#if GPUSIM_FLASH
#include "attention/flash.cuh"
#else
#include "attention/chained.cuh"
#endif
#include "ptx.cuh"
#include "record.cuh"
#include "scenario.cuh"

extern "C" __global__ void __launch_bounds__(gpusim::kThreads, GPUSIM_CTAS_PER_SM)
    gpusim_attention(gpusim::AttentionParams params) {
  using namespace gpusim;

  // Under a causal mask the last queries see the most keys: their blocks start first, in each head or of all heads.
#if defined(GPUSIM_LONGEST_FIRST)
  constexpr int kEach = kHeads * GPUSIM_LONGEST_FIRST;  // heads of all batches
  int const launched = block_x() + kQueryBlocks * (block_y() + kHeads * block_z());
  Block const block(params, kQueryBlocks - 1 - launched / kEach, launched % kHeads, launched % kEach / kHeads);
#else
#if defined(GPUSIM_LAST_FIRST)
  constexpr bool kLastFirst = GPUSIM_LAST_FIRST;
#else
  constexpr bool kLastFirst = kCausal && GPUSIM_FLASH;
#endif
  Block const block(params, kLastFirst ? kQueryBlocks - 1 - block_x() : block_x(), block_y(), block_z());
#endif
  if (!block.exists()) return;
  int const thread = thread_index(), warp = warp_index();
#if defined(GPUSIM_TRACE)
  Recorder recorder(params.common, block_x() + kQueryBlocks * (block_y() + kHeads * block_z()), kWarps, warp,
                    thread % kWarpSize);
#elif defined(GPUSIM_TIMELINE)
  // Extents are those of a GEMM of one head: they number the CTAs of the first head of the first batch, which alone are
  // stamped (gpusim/families/attention/schedule.py).
  Recorder recorder(params.common, Extents{}, warp, thread % kWarpSize, block.key_blocks);
#else
  Recorder recorder;
#endif
#if GPUSIM_FLASH
  Flash flash(params, block, shared_base(), thread, warp, recorder);
  flash.run(params, warp);
#else
  Chained chained(params, block, shared_base(), thread, warp, recorder);
  chained.run();
#endif
  GPUSIM_RECORD(finish());
  GPUSIM_STAMP(kernel_end());
}
