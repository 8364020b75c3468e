// The entry point of sm_90a GEMMs: what all warps do first, and the roles. Specialised by
// gpusim/families/hopper/on_gpu/specialise.py; mirrors gpusim/families/hopper/program/roles.py and setup.py.
#include "hopper/epilogue.cuh"
#include "hopper/mainloop.cuh"
#include "hopper/params.cuh"
#include "hopper/pipeline.cuh"
#include "hopper/producer.cuh"
#include "hopper/ptx.cuh"
#include "hopper/record.cuh"
#include "hopper/scheduler.cuh"

namespace gpusim {

// The barriers of a ring of slots, of a consumer's and a producer's arrivals.
GPUSIM_DEVICE void init(uint32 barrier, int arrivals, Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_MBAR_INIT, recorder.barrier(barrier), arrivals));
  mbarrier_init(barrier, arrivals);
}
GPUSIM_DEVICE void fence_init(Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_FENCE_BARRIER_INIT));
  fence_barrier_init();
}
template <int kTensor>
GPUSIM_DEVICE void prefetch(TensorMap const& map, Recorder& recorder) {
  GPUSIM_RECORD(write(GPUSIM_EVENT_PREFETCH_TMA_DESCRIPTOR, kTensor));
  prefetch_tensor_map(map);
}

// Mbarriers are initialised, and the CTA or the cluster meets.
GPUSIM_DEVICE void setup(Params const& params, uint32 base, int warp, Recorder& recorder) {
  bool const leads = warp == 0 && elect_one();
  if (leads) {
    prefetch<kTensorA>(params.a, recorder);
    prefetch<kTensorB>(params.b, recorder);
    if constexpr (kSpecialized && kHasC) prefetch<kTensorC>(params.c, recorder);
    if constexpr (kSpecialized) prefetch<kTensorD>(params.d, recorder);
    for (int i = 0; i < kStages; ++i) {
      init(barrier_at(base, kFull, i), 1, recorder);
      init(barrier_at(base, kEmpty, i), kEmptyArrivals, recorder);
    }
  }
  fence_init(recorder);
  if constexpr (kSpecialized) {
    if (leads) {
      for (int i = 0; i < kStagesC; ++i) {
        init(barrier_at(base, kSourceFull, i), kWarpSize, recorder);
        init(barrier_at(base, kSourceEmpty, i), kConsumerThreads, recorder);
      }
    }
    fence_init(recorder);
  }
  if constexpr (kOrdersLoads) {
    if (leads) {
      for (int i = 0; i < 2; ++i) init(barrier_at(base, kLoadOrder, i), kWarpSize, recorder);
    }
    fence_init(recorder);
  }
  if constexpr (kPingpong) {
    if (leads) {
      for (int i = 0; i < 4; ++i) init(barrier_at(base, kMathOrder, i), kWarpgroup, recorder);
    }
    fence_init(recorder);
  }
  warp_barrier();
  if constexpr (kClusterSize > 1) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_CLUSTER_ARRIVE_RELAXED));
    cluster_arrive_relaxed();
    GPUSIM_RECORD(write(GPUSIM_EVENT_CLUSTER_WAIT));
    cluster_wait();
  } else {
    GPUSIM_RECORD(write(GPUSIM_EVENT_SYNCTHREADS));
    cta_barrier();
  }
}

// A consumer that multiplies its rows of every tile.
GPUSIM_DEVICE void share_tiles(Params const& params, uint32 base, int slot, Recorder& recorder) {
  Mainloop mainloop(base, slot);
  Epilogue epilogue(params, base, slot);
  Accumulators d, sums;
  Scheduler scheduler(params);
  bool const any = scheduler.valid(params);
  GPUSIM_NO_UNROLL
  for (; scheduler.valid(params); scheduler.advance()) {
    int const held = mainloop.run(d, sums, params.k_tiles, recorder);
    mainloop.tail(d, held, recorder);
    epilogue.run(params, scheduler.tile(params), kPromotes ? sums : d, recorder);
  }
  if (any) epilogue.tail(recorder);
}

// A consumer of a ping-pong kernel: every second tile, its main loop and its epilogue in turn.
GPUSIM_DEVICE void take_turns(Params const& params, uint32 base, int group, Recorder& recorder) {
  Mainloop mainloop(base, 0);
  Epilogue epilogue(params, base, 0);
  MathOrder order(group);
  Accumulators d, sums;
  Scheduler scheduler(params);
  int const turns = params.k_tiles / kStages, rest = params.k_tiles % kStages;
  auto const skip = [&] {
    mainloop.state.skip(turns, rest);
    epilogue.skip();
    scheduler.advance();
  };
  if (group) skip();
  GPUSIM_NO_UNROLL
  while (scheduler.valid(params)) {
    order.await(base, recorder);
    int const held = mainloop.run(d, sums, params.k_tiles, recorder);
    order.pass_on(base, recorder);
    mainloop.tail(d, held, recorder);
    order.await(base, recorder);
    epilogue.run(params, scheduler.tile(params), kPromotes ? sums : d, recorder);
    epilogue.tail(recorder);
    order.pass_on(base, recorder);
    scheduler.advance();
    skip();
  }
}

GPUSIM_DEVICE void produce(Params const& params, uint32 base, int warp, Recorder& recorder) {
  if constexpr (kProducerRegisters > 0) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_SETMAXNREG_DEC, kProducerRegisters));
    fewer_registers<kProducerRegisters>();
  }
  if (warp == 0) {
    load_operands(params, base, recorder);
    if constexpr (kLoadsC && !kOrdersLoads) load_source(params, base, recorder);
  } else if (kLoadsC && kOrdersLoads && warp == 2) {
    load_source(params, base, recorder);
  }
}

GPUSIM_DEVICE void consume(Params const& params, uint32 base, int group, Recorder& recorder) {
  if constexpr (kConsumerRegisters > 0) {
    GPUSIM_RECORD(write(GPUSIM_EVENT_SETMAXNREG_INC, kConsumerRegisters));
    more_registers<kConsumerRegisters>();
  }
  // Of the warpgroups that share a tile, the last one has the first rows.
  if constexpr (kPingpong) {
    take_turns(params, base, group - 1, recorder);
  } else {
    share_tiles(params, base, group % kConsumers, recorder);
  }
}

GPUSIM_DEVICE void load_and_multiply(Params const& params, uint32 base, Recorder& recorder) {
  Mainloop mainloop(base, 0);
  Accumulators d;
  Tile const tile = Scheduler(params).tile(params);
  mainloop.load_and_multiply(params, tile, d, recorder);
  store_from_registers(params, tile, d);
  if constexpr (kClusterSize > 1) {
    // Others of the cluster may still arrive at this CTA's barriers.
    GPUSIM_RECORD(write(GPUSIM_EVENT_CLUSTER_ARRIVE));
    cluster_arrive();
    GPUSIM_RECORD(write(GPUSIM_EVENT_CLUSTER_WAIT));
    cluster_wait();
  }
}

}  // namespace gpusim

extern "C" __global__ void __cluster_dims__(GPUSIM_CLUSTER_M, GPUSIM_CLUSTER_N, 1)
    __launch_bounds__(gpusim::kThreads, 1) gpusim_hopper(const __grid_constant__ gpusim::Params params) {
  using namespace gpusim;
  Stamps stamps;
  uint32 const base = shared_base();
  int const warp = warp_index();
  Recorder recorder(params, base);
  setup(params, base, warp, recorder);
  if constexpr (!kSpecialized) {
    load_and_multiply(params, base, recorder);
  } else if (warp < kWarpgroup / kWarpSize) {
    produce(params, base, warp, recorder);
  } else {
    consume(params, base, warp / (kWarpgroup / kWarpSize), recorder);
  }
  GPUSIM_RECORD(finish());
  stamps.finish(params);
}
