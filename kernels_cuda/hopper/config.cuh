// The kernel that is compiled: what gpusim/families/hopper/on_gpu/specialise.py chose, as constants. Knows no
// instructions.
#pragma once

#include "platform.cuh"

namespace gpusim {

using uint64 = unsigned long long;

enum class Schedule { non_specialized, warp_specialized, cooperative, pingpong };
enum class Element { f16, bf16, f32, s32, s8 };

constexpr Schedule kSchedule = Schedule::GPUSIM_SCHEDULE;
constexpr bool kPersistent = GPUSIM_PERSISTENT;        // many tiles a CTA; else blockIdx is its tile
constexpr bool kSpecialized = kSchedule != Schedule::non_specialized;
constexpr bool kPingpong = kSchedule == Schedule::pingpong;
constexpr bool kOrdersLoads = kPingpong || kSchedule == Schedule::cooperative;

constexpr int kWarpgroup = 128;
constexpr int kMmaRows = 64;
constexpr int kThreads = GPUSIM_THREADS;
constexpr int kConsumers = GPUSIM_CONSUMERS;           // warpgroups that share a tile
constexpr int kConsumerThreads = kConsumers * kWarpgroup;

constexpr int kTileM = GPUSIM_TILE_M;
constexpr int kTileN = GPUSIM_TILE_N;
constexpr int kTileK = GPUSIM_TILE_K;
constexpr int kClusterM = GPUSIM_CLUSTER_M;
constexpr int kClusterN = GPUSIM_CLUSTER_N;
constexpr int kClusterSize = kClusterM * kClusterN;
constexpr int kStages = GPUSIM_STAGES;
constexpr int kStageBytes = GPUSIM_STAGE_BYTES;        // both operands of a k tile
constexpr int kMBlocks = GPUSIM_M_BLOCKS;              // blocks of 64 rows that a warpgroup multiplies
constexpr int kKBlocks = GPUSIM_K_BLOCKS;              // instructions along K of a k tile
constexpr bool kPromotes = GPUSIM_PROMOTES;            // 8-bit floats: sums move to f32 registers after each k tile
constexpr int kProducerRegisters = GPUSIM_PRODUCER_REGISTERS;  // 0: no setmaxnreg
constexpr int kConsumerRegisters = GPUSIM_CONSUMER_REGISTERS;

// One operand: its ring, the boxes that a CTA loads of it, and the matrix descriptors of its blocks, in units of
// 16 bytes. A block of K is `kKStep` on inside an atom and `kAtomStep` on from atom to atom, which has kKOfAtom blocks.
struct OperandA {
  static constexpr int kBase = GPUSIM_BASE_A, kBytes = GPUSIM_STAGE_BYTES_A;
  static constexpr bool kKContiguous = GPUSIM_K_CONTIGUOUS_A;
  static constexpr int kSlices = kClusterN, kSliceRows = GPUSIM_SLICE_ROWS_A, kSliceBytes = GPUSIM_SLICE_BYTES_A;
  static constexpr int kBoxes = GPUSIM_BOXES_A, kBoxStep = GPUSIM_BOX_STEP_A, kBoxStepBytes = GPUSIM_BOX_STEP_BYTES_A;
  static constexpr uint32 kLow = GPUSIM_DESCRIPTOR_LOW_A, kHigh = GPUSIM_DESCRIPTOR_HIGH_A;
  static constexpr int kMStep = GPUSIM_DESCRIPTOR_M_STEP_A, kKOfAtom = GPUSIM_DESCRIPTOR_K_OF_ATOM_A;
  static constexpr int kKStep = GPUSIM_DESCRIPTOR_K_STEP_A, kAtomStep = GPUSIM_DESCRIPTOR_ATOM_STEP_A;
};
struct OperandB {
  static constexpr int kBase = GPUSIM_BASE_B, kBytes = GPUSIM_STAGE_BYTES_B;
  static constexpr bool kKContiguous = GPUSIM_K_CONTIGUOUS_B;
  static constexpr int kSlices = kClusterM, kSliceRows = GPUSIM_SLICE_ROWS_B, kSliceBytes = GPUSIM_SLICE_BYTES_B;
  static constexpr int kBoxes = GPUSIM_BOXES_B, kBoxStep = GPUSIM_BOX_STEP_B, kBoxStepBytes = GPUSIM_BOX_STEP_BYTES_B;
  static constexpr uint32 kLow = GPUSIM_DESCRIPTOR_LOW_B, kHigh = GPUSIM_DESCRIPTOR_HIGH_B;
  static constexpr int kMStep = GPUSIM_DESCRIPTOR_M_STEP_B, kKOfAtom = GPUSIM_DESCRIPTOR_K_OF_ATOM_B;
  static constexpr int kKStep = GPUSIM_DESCRIPTOR_K_STEP_B, kAtomStep = GPUSIM_DESCRIPTOR_ATOM_STEP_B;
};

// The epilogue's subtiles and their stages in shared memory.
constexpr Element kOutput = Element::GPUSIM_OUTPUT;
constexpr int kOutputBytes = kOutput == Element::s8 ? 1 : kOutput == Element::f16 || kOutput == Element::bf16 ? 2 : 4;
constexpr bool kHasC = GPUSIM_HAS_C;                   // shared memory for C
constexpr bool kLoadsC = GPUSIM_LOADS_C;               // beta is not 0
constexpr bool kReusesC = GPUSIM_REUSES_C;             // D is staged where C was
constexpr int kSubtileM = GPUSIM_SUBTILE_M;
constexpr int kSubtileN = GPUSIM_SUBTILE_N;
constexpr int kSubtilesM = kTileM / kSubtileM;
constexpr int kSubtilesN = kTileN / kSubtileN;
constexpr int kStagesC = GPUSIM_STAGES_C;
constexpr int kStagesD = GPUSIM_STAGES_D;
constexpr int kStoreStages = kReusesC ? kStagesC : kStagesD;
constexpr int kSubtileBytes = kSubtileM * kSubtileN * kOutputBytes;
constexpr int kOutputSwizzle = GPUSIM_OUTPUT_SWIZZLE;  // bytes of an atom's rows
constexpr int kBaseC = GPUSIM_BASE_C;
constexpr int kBaseD = GPUSIM_BASE_D;

// Byte addresses of the mbarriers, from the CTA's first byte of shared memory.
constexpr int kBarrierBytes = 8;
constexpr int kBarriers = GPUSIM_BARRIERS;
constexpr int kFull = kBarriers;
constexpr int kEmpty = kFull + kStages * kBarrierBytes;
constexpr int kSourceFull = kEmpty + kStages * kBarrierBytes;
constexpr int kSourceEmpty = kSourceFull + kStagesC * kBarrierBytes;
constexpr int kMathOrder = kSourceEmpty + kStagesC * kBarrierBytes;
constexpr int kLoadOrder = kMathOrder + (kPingpong ? 4 * kBarrierBytes : 0);

// Arrivals that complete a phase.
constexpr int kEmptyArrivals = kClusterSize == 1 ? kConsumerThreads : (kClusterM + kClusterN - 1) * kConsumers;

}  // namespace gpusim
