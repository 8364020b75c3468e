// Instrumented builds: what a thread executed, as rows of integers; and when each warpgroup began and ended.
#pragma once

#include "hopper/params.cuh"
#include "hopper/ptx.cuh"

namespace gpusim {

constexpr int kRowWords = 8;
constexpr int kRecordedThreads = 8;  // one of so many consumer threads is recorded, and the elected lane of each warp

#if defined(GPUSIM_TRACE)

// A row: the event's number (GPUSIM_EVENT_*, gpusim/families/hopper/on_gpu/trace_rows.py), then its entries. Shared
// addresses count from the CTA's first byte, barriers from its first barrier.
struct Recorder {
  int64* rows_;  // null: not recorded
  int* count_at_;
  uint32 base_;
  int count_;
  int capacity_;
  bool stuck_;  // a wait took far too long: this thread waits no more, so that the rows tell who was stuck, and where

  GPUSIM_DEVICE Recorder(Params const& params, uint32 base) : rows_(nullptr), base_(base), count_(0), stuck_(false) {
    int const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int slot = -1;
    for (int i = 0; i < params.recorded_blocks; ++i)
      if (params.recorded[i] == block) slot = i;
    int const thread = threadIdx.x, lane = thread % kWarpSize;
    bool const elected = elect_one();
    int const place = slot * (kThreads / kRecordedThreads) + (elected ? thread - lane : thread) / kRecordedThreads;
    capacity_ = params.record_capacity;
    if (slot < 0 || !(elected || (lane && lane % kRecordedThreads == 0))) return;
    rows_ = static_cast<int64*>(params.records) + int64(place) * capacity_ * kRowWords;
    count_at_ = params.record_counts + place;
  }

  template <class... Entries>
  GPUSIM_DEVICE void write(Entries... entries) {
    if (!rows_) return;
    if (count_ < capacity_) {
      int64* at = rows_ + int64(count_) * kRowWords;
      ((*at++ = static_cast<int64>(entries)), ...);
    }
    ++count_;
  }
  GPUSIM_DEVICE int64 shared(uint32 address) { return int64(address) - base_; }
  GPUSIM_DEVICE int64 barrier(uint32 address) { return (int64(address) - base_ - kBarriers) / kBarrierBytes; }
  GPUSIM_DEVICE void wgmma(uint64 a, uint64 b, bool accumulate) {
    uint32 const base = base_ >> 4 & 0x3fff;
    write(GPUSIM_EVENT_WGMMA, uint32(a) - base, a >> 32, uint32(b) - base, b >> 32, accumulate);
  }
  GPUSIM_DEVICE void await(uint32 address, uint32 parity) {
    int tries = stuck_ ? 0 : 1 << 14;
    while (tries && !mbarrier_try_wait(address, parity)) --tries;
    if (tries || stuck_) return;
    stuck_ = true;
    write(GPUSIM_EVENT_STUCK, barrier(address), parity);
  }
  GPUSIM_DEVICE void finish() {
    if (rows_) *count_at_ = count_;
  }
};
#define GPUSIM_RECORD(call) recorder.call

#else

struct Recorder {
  GPUSIM_DEVICE Recorder(Params const&, uint32) {}
  GPUSIM_DEVICE void await(uint32 address, uint32 parity) { mbarrier_wait(address, parity); }
};
#define GPUSIM_RECORD(call) static_cast<void>(0)

#endif

#if defined(GPUSIM_TIMED)

GPUSIM_DEVICE uint64 clock_cycles() {
  uint64 now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
GPUSIM_DEVICE uint64 clock_nanoseconds() {
  uint64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

// [block][warpgroup]: cycles at begin and end, nanoseconds at begin and end.
struct Stamps {
  uint64 begin_ = clock_cycles();
  uint64 begin_ns_ = clock_nanoseconds();

  GPUSIM_DEVICE void finish(Params const& params) {
    if (threadIdx.x % kWarpgroup) return;
    int const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int const place = block * (kThreads / kWarpgroup) + threadIdx.x / kWarpgroup;
    uint64* const at = static_cast<uint64*>(params.records) + int64(place) * 4;
    at[0] = begin_;
    at[1] = clock_cycles();
    at[2] = begin_ns_;
    at[3] = clock_nanoseconds();
  }
};

#else

struct Stamps {
  GPUSIM_DEVICE void finish(Params const&) {}
};

#endif

}  // namespace gpusim
