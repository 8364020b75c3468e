// How far the accesses of conv2d forward reach; knows no iterator.
#pragma once

#include "conv_shape.cuh"
#include "extents.cuh"
#include "platform.cuh"
#include "scenario.cuh"

namespace gpusim {

// No access lies farther than this from its tensor's base, valid or not; in elements.
constexpr int64 kFarthestChannel = int64(kC) + int64(kTileK) * kSplitKSlices * (kStages + 2);
constexpr int64 kFarthestImage = (int64(Extents::m) + kTileM) / (kP * kQ) + 1;
constexpr int64 kFarthestH = int64(kP) * kStrideH + kR * kDilationH + kPadH;
constexpr int64 kFarthestW = int64(kQ) * kStrideW + kS * kDilationW + kPadW;
constexpr int64 kFarthestActivation =
    ((kFarthestImage * kH + kFarthestH) * kW + kFarthestW) * kC + kFarthestChannel;
constexpr int64 kFarthestFilter = (int64(kFilters) + kTileN) * kR * kS * kC + kFarthestChannel;

}  // namespace gpusim
