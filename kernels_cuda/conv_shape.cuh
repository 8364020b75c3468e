// A 2-d convolution as constants, and the walk of its fetches, whichever tensor it computes; knows no iterator. Mirrors
// KWalk of gpusim/tile/k_walk.py.
#pragma once

#include "extents.cuh"
#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// Activation [n, h, w, c], filter [k, r, s, c], output [n, p, q, k].
constexpr int kN = GPUSIM_CONV_N, kH = GPUSIM_CONV_H, kW = GPUSIM_CONV_W, kC = GPUSIM_CONV_C;
constexpr int kFilters = GPUSIM_CONV_K, kR = GPUSIM_CONV_R, kS = GPUSIM_CONV_S;
constexpr int kP = GPUSIM_CONV_P, kQ = GPUSIM_CONV_Q;
constexpr int kPadH = GPUSIM_CONV_PAD_H, kPadW = GPUSIM_CONV_PAD_W;
constexpr int kStrideH = GPUSIM_CONV_STRIDE_H, kStrideW = GPUSIM_CONV_STRIDE_W;
constexpr int kDilationH = GPUSIM_CONV_DILATION_H, kDilationW = GPUSIM_CONV_DILATION_W;
constexpr bool kFlipFilter = GPUSIM_CONV_FLIP_FILTER;  // mode = "convolution"

// A fetch is one filter position and one interval of the channels that are summed; fetches walk s, then r, then the
// channels by the tile's K times the slices, so that slices interleave. No mask is ever cleared: past the last k tile the
// channel is out of range.
struct FilterPosition {
  int r;
  int s;
  int channel;  // of the thread's first access

  // To the next fetch. Returns which of three steps that was: to the next s, r or channel interval.
  template <class Step>
  GPUSIM_HOST_DEVICE Step advance(Step next_s_step, Step next_r_step, Step next_c_step) {
    bool const next_r = ++s == kS;
    s = next_r ? 0 : s;
    r += next_r;
    bool const next_c = r == kR;
    r = next_c ? 0 : r;
    channel += next_c ? kTileK * kSplitKSlices : 0;
    return next_c ? next_c_step : next_r ? next_r_step : next_s_step;
  }

  GPUSIM_HOST_DEVICE void advance() { advance(0, 0, 0); }
};

// k tiles of a slice: the same for all.
GPUSIM_HOST_DEVICE int gemm_k_iterations(Extents const&, int k_iterations, int) { return k_iterations; }

}  // namespace gpusim
