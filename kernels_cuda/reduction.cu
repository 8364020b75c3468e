// The entry point of a parallel split-K's second kernel. Specialised by gpusim/families/gemm/reduction/cuda.py.
#include "params.cuh"
#include "platform.cuh"
#include "ptx.cuh"
#include "record.cuh"
#include "reduction.cuh"

using gpusim::Params;

extern "C" __global__ void __launch_bounds__(gpusim::ReductionTile::kWarps * gpusim::kWarpSize)
    gpusim_reduction(Params params) {
  using namespace gpusim;

  int const thread = thread_index();
#if defined(GPUSIM_TRACE)
  Recorder recorder(params, ReductionTile::linear(block_x(), block_y()), ReductionTile::kWarps, warp_index(),
                    thread % kWarpSize);
#else
  Recorder recorder;
#endif
  Reduction reduction(block_x(), block_y(), thread, recorder);
  reduction.run(params);
  GPUSIM_RECORD(finish());
}
