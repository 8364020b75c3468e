// Shared-memory layouts of operands: (contiguous, strided, stage) to element offset. Integers only.
// Mirrors gpusim/layout/{crosswise,congruous,linear,cute,named}.py.
#pragma once

#include "element.cuh"
#include "platform.cuh"

namespace gpusim {

constexpr int kLineVectors = 8;     // vectors in a 128-byte line
constexpr int kPartition = 4;       // a partition is 4 vectors by 4 lines

// CrosswiseLayout: rows of K packed kFactor to a 128-byte line, two levels of XOR inside it; stages side by side
// along K.
template <int kContiguous, int kStrided, int kStages>
struct CrosswiseLayout {
  static constexpr int kFactor = kLineVectors * kVectorElements / kContiguous;
  static constexpr int kStride = kStages * kContiguous;
  static constexpr int kElements = kStride * kStrided;
  static constexpr int kStageElements = kContiguous * kFactor;  // from a stage to the next

  static_assert(kFactor >= 1, "a row must not exceed a line");

  GPUSIM_HOST_DEVICE static constexpr int offset(int contiguous, int strided) {
    constexpr int row_vectors = kLineVectors / kFactor;
    constexpr int tile_lines = row_vectors > 4 ? row_vectors : 4;
    int const vector = contiguous / kVectorElements;
    int const line = strided / kFactor;
    int const line_in_tile = line % tile_lines;
    int const place = vector % row_vectors + strided % kFactor * row_vectors;
    int const within_partition = (place % kPartition) ^ (line_in_tile % kPartition);
    int const partition = (place / kPartition) ^ (line_in_tile / kPartition % 2);
    int const stored = vector / row_vectors * kLineVectors + partition * kPartition + within_partition;
    return stored * kVectorElements + contiguous % kVectorElements + line * (kStride * kFactor);
  }
};

// CongruousLayout: rows along M or N of whole 128-byte lines; stages one after another along K. Elements under 32 bits
// are read 8 rows at a time by ldmatrix.trans, those of 32 bits by plain loads of 8 neighbours in each of 4 rows.
template <int kContiguous, int kStrided, int kStages>
struct CongruousLayout {
  static constexpr int kStageElements = kContiguous * kStrided;
  static constexpr int kElements = kStageElements * kStages;
  static constexpr int kRowsApart = kElementBits == 32 ? 4 : 8;                        // swizzled differently
  static constexpr int kApart = (kElementBits == 32 ? 2 : 1) * kVectorElements;  // from a row to the next

  static_assert(kContiguous % (kLineVectors * kVectorElements) == 0, "a row is whole lines");
  static_assert(kStrided % kRowsApart == 0, "every stage is swizzled alike");

  GPUSIM_HOST_DEVICE static constexpr int offset(int contiguous, int strided) {
    return strided * kContiguous + (contiguous ^ (strided % kRowsApart * kApart));
  }
};

// PaddedLayout: rows with kPadding unused elements after each; stages one after another. 0 is row-major.
template <int kPadding, int kContiguous, int kStrided, int kStages>
struct PaddedLayout {
  static constexpr int kRowStride = kContiguous + kPadding;
  static constexpr int kStageElements = kRowStride * kStrided;
  static constexpr int kElements = kStageElements * kStages;

  GPUSIM_HOST_DEVICE static constexpr int offset(int contiguous, int strided) {
    return strided * kRowStride + contiguous;
  }
};

// SwizzledLayout: CuTe's Swizzle<B,M,S> of element offsets in a row-major stage; every stage starts where the swizzle
// starts over.
template <int kBits, int kBase, int kShift, int kContiguous, int kStrided, int kStages>
struct SwizzledLayout {
  static constexpr int kSpan = kBits ? 1 << (kBase + kBits + (kShift < 0 ? -kShift : 0)) : 1;
  static constexpr int kStageElements = ceil_div(kContiguous * kStrided, kSpan) * kSpan;
  static constexpr int kElements = kStageElements * kStages;

  GPUSIM_HOST_DEVICE static constexpr int offset(int contiguous, int strided) {
    constexpr int mask = (1 << kBits) - 1;
    constexpr int up = kShift > 0 ? kShift : 0;    // how far above kBase the source field lies
    constexpr int down = kShift < 0 ? -kShift : 0;  // how far above kBase the field that changes lies
    int const given = strided * kContiguous + contiguous;
    return given ^ (((given >> (kBase + up)) & mask) << (kBase + down));
  }
};

// What a scenario names; Of<...> is the layout of one operand's extents.
struct Crosswise {
  template <int kContiguous, int kStrided, int kStages>
  using Of = CrosswiseLayout<kContiguous, kStrided, kStages>;
};

struct Congruous {
  template <int kContiguous, int kStrided, int kStages>
  using Of = CongruousLayout<kContiguous, kStrided, kStages>;
};

template <int kPadding>
struct Padded {
  template <int kContiguous, int kStrided, int kStages>
  using Of = PaddedLayout<kPadding, kContiguous, kStrided, kStages>;
};

template <int kBits, int kBase, int kShift>
struct Swizzle {
  template <int kContiguous, int kStrided, int kStages>
  using Of = SwizzledLayout<kBits, kBase, kShift, kContiguous, kStrided, kStages>;
};

}  // namespace gpusim
