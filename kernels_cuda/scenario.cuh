// The scenario this kernel is compiled for: the macros of a family's specialise.py as constants, and what each operand
// makes of them. Knows no extents of the problem (extents.cuh) and no addresses.
#pragma once

#include "element.cuh"
#include "layout.cuh"
#include "platform.cuh"
#include "thread_map.cuh"

namespace gpusim {

constexpr int kTileM = GPUSIM_TILE_M, kTileN = GPUSIM_TILE_N, kTileK = GPUSIM_TILE_K;
constexpr int kWarpM = GPUSIM_WARP_M, kWarpN = GPUSIM_WARP_N;
constexpr int kInstructionM = GPUSIM_INSTRUCTION_M, kInstructionN = 8, kInstructionK = GPUSIM_INSTRUCTION_K;
constexpr int kStages = GPUSIM_STAGES;
constexpr int kSplitKSlices = GPUSIM_SPLIT_K_SLICES;

constexpr int kWarpsM = kTileM / kWarpM, kWarpsN = kTileN / kWarpN;
constexpr int kWarps = kWarpsM * kWarpsN;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kKGroups = kTileK / kInstructionK;

// Of what this kernel stores (partial sums, for a parallel split-K); in which the epilogue computes.
constexpr Element kOutput = Element::GPUSIM_OUTPUT;
constexpr Element kCompute = Element::GPUSIM_COMPUTE;

constexpr bool kReduces = GPUSIM_REDUCES;  // a parallel split-K: slices store partial sums for reduction.cu
constexpr bool kHasBias = GPUSIM_BIAS;
constexpr bool kHasRelu = GPUSIM_RELU;

static_assert(kKGroups >= 2 && kKGroups % 2 == 0, "fragments are double-buffered over an even number of k groups");
static_assert(kWarpM % kInstructionM == 0 && kWarpN % kInstructionN == 0, "warp tiles are whole instruction tiles");

constexpr bool kConvolution = GPUSIM_CONVOLUTION;  // an implicit GEMM

enum class CacheOperator { ca, cg };  // through L1, around it

// How a lane finds its address for another instruction or k group: by adding a constant, by XOR with one inside a
// 128-byte line of the contiguous dimension, or only by asking the layout again. specialise.py chooses the cheapest that
// holds for every lane and stage.
enum class Walk { add, exclusive_or, layout };

// What gpusim.schedule.multistage.OperandCopies and tile.thread_map.operand_thread_map say of one operand.
template <int kOperandId, bool kContiguousAlongK, int kTileMn, int kWarpMn, class LayoutFamily, int kAccessElements,
          int kPointers, int kPointersAlongLine, Walk kWalkKind, bool kAlwaysThroughL1>
struct OperandOf {
  static constexpr int kId = kOperandId;  // 1 is a, 2 is b: what a trace record says
  static constexpr bool kKContiguous = kContiguousAlongK;
  static constexpr int kTileExtent = kTileMn;  // along M or N
  static constexpr int kWarpExtent = kWarpMn;
  static constexpr int kContiguous = kKContiguous ? kTileK : kTileExtent;
  static constexpr int kStrided = kKContiguous ? kTileExtent : kTileK;
  static constexpr int kElementsPerCopy = kAccessElements;
  static constexpr int kCopyBytes = operand_bytes(kAccessElements);
  static constexpr int kStorePointersStrided = kPointers;
  static constexpr int kStorePointersContiguous = kPointersAlongLine;
  static constexpr Walk kWalk = kWalkKind;
  static constexpr CacheOperator kCache =
      kAlwaysThroughL1 || kCopyBytes != kVectorBytes ? CacheOperator::ca : CacheOperator::cg;

  // Lanes of a warp along the contiguous dimension: a whole row along K, one 128-byte line along M or N.
  static constexpr int kLanesContiguous = kKContiguous ? kTileK / kVectorElements : kLineVectors;

  using Layout = typename LayoutFamily::template Of<kContiguous, kStrided, kStages>;
  using Map = ThreadMap<kContiguous, kStrided, kThreads, kLanesContiguous>;

  static constexpr int kAccesses = Map::kAccesses;
  static constexpr int kVecs = Map::kElementsPerAccess / kElementsPerCopy;
  static constexpr int kCopies = kAccesses * kVecs;
  static constexpr int kShare = ceil_div(kAccesses, kKGroups);  // accesses issued in one k group
  static constexpr int kSharedBytes = operand_bytes(Layout::kElements);
};

// Crosswise, Congruous, Padded<N>, or Swizzle<B, M, S> in three macros, because a compiler option may hold no comma.
#if defined(GPUSIM_LAYOUT_A)
using LayoutFamilyA = GPUSIM_LAYOUT_A;
#else
using LayoutFamilyA = Swizzle<GPUSIM_SWIZZLE_BITS_A, GPUSIM_SWIZZLE_BASE_A, GPUSIM_SWIZZLE_SHIFT_A>;
#endif
#if defined(GPUSIM_LAYOUT_B)
using LayoutFamilyB = GPUSIM_LAYOUT_B;
#else
using LayoutFamilyB = Swizzle<GPUSIM_SWIZZLE_BITS_B, GPUSIM_SWIZZLE_BASE_B, GPUSIM_SWIZZLE_SHIFT_B>;
#endif

using OperandA = OperandOf<1, GPUSIM_K_CONTIGUOUS_A, kTileM, kWarpM, LayoutFamilyA, GPUSIM_ACCESS_A,
                           GPUSIM_STORE_POINTERS_STRIDED_A, GPUSIM_STORE_POINTERS_CONTIGUOUS_A, Walk::GPUSIM_WALK_A,
                           kConvolution>;
using OperandB = OperandOf<2, GPUSIM_K_CONTIGUOUS_B, kTileN, kWarpN, LayoutFamilyB, GPUSIM_ACCESS_B,
                           GPUSIM_STORE_POINTERS_STRIDED_B, GPUSIM_STORE_POINTERS_CONTIGUOUS_B, Walk::GPUSIM_WALK_B,
                           false>;

// Operand A's stages, then operand B's, from the base of the CTA's dynamic shared memory.
constexpr int kSharedBaseA = 0;
constexpr int kSharedBaseB = OperandA::kSharedBytes;

// The warp tile each warp owns: M fastest, then N.
GPUSIM_HOST_DEVICE int warp_m(int warp) { return warp % kWarpsM; }
GPUSIM_HOST_DEVICE int warp_n(int warp) { return warp / kWarpsM; }

}  // namespace gpusim
