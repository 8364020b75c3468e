// Which output tiles a CTA computes, in order. Mirrors gpusim/tile/scheduler.
#pragma once

#include "hopper/config.cuh"
#include "hopper/params.cuh"
#include "hopper/ptx.cuh"

namespace gpusim {

struct Tile {
  int m;
  int n;
  int l;
};

GPUSIM_DEVICE uint32 quotient(uint32 number, Divisor const& by) {
  return multiply_high(number * 2, by.multiplier) >> by.shift;
}

// Persistent: the numbers from the CTA's place in the raster on, in steps of the grid. Else: the tile of blockIdx.
struct Scheduler {
  uint32 number = 0;
  uint32 step = 1;

  GPUSIM_DEVICE explicit Scheduler(Params const& params) {
    if constexpr (kPersistent) {
      number = params.along_n ? blockIdx.x + blockIdx.y * gridDim.x : blockIdx.x * gridDim.y + blockIdx.y;
      step = gridDim.x * gridDim.y;
    }
  }
  GPUSIM_DEVICE bool valid(Params const& params) const {
    return kPersistent ? number < uint32(params.tiles) : number == 0;
  }
  GPUSIM_DEVICE void advance() { number += step; }

  GPUSIM_DEVICE Tile tile(Params const& params) const {
    if constexpr (!kPersistent) return {int(blockIdx.x), int(blockIdx.y), int(blockIdx.z)};
    uint32 const batch = quotient(number, params.of_batch);
    uint32 const rest = number - batch * params.of_batch.divisor;
    uint32 const cluster = rest / kClusterSize, place = rest % kClusterSize;
    uint32 const side = 1u << params.log_swizzle;
    uint32 const steps = cluster >> params.log_swizzle;
    uint32 const strip = quotient(steps, params.of_strip);
    uint32 const major = steps - strip * params.of_strip.divisor;
    uint32 const minor = strip * side + (cluster & (side - 1));
    if (params.along_n)
      return {int(minor * kClusterM + place % kClusterM), int(major * kClusterN + place / kClusterM), int(batch)};
    return {int(major * kClusterM + place / kClusterN), int(minor * kClusterN + place % kClusterN), int(batch)};
  }
};

}  // namespace gpusim
