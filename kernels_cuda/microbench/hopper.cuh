// What microbenchmarks of sm_90a share: mbarriers with bounded waits, TMA, clusters, and a meeting of all CTAs of a grid.
#pragma once

#include "common.cuh"

// A CUtensorMap that the host encodes, as a parameter: `const __grid_constant__ TensorMap map`.
struct alignas(64) TensorMap {
    u64 words[16];
};

// What is wrong with a launch, in state[0]: a wait was given up, or a barrier was brought other bytes than expected.
constexpr u32 kGivenUp = 1, kOtherBytes = 2;
constexpr u32 kPolls = 1 << 16;  // a try_wait in vain takes up to 2,900 cycles
constexpr u32 kSettled = 4000;

// One lane of a warp whose 32 lanes are all here.
DEVICE bool elected() {
    u32 is;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(is)::"memory");
    return is != 0;
}

// Dynamic shared memory from a multiple of 1024 on, as swizzled boxes and operands want it. The host asks for 1024 bytes more.
DEVICE u32 aligned_shared() {
    extern __shared__ __align__(1024) char dynamic[];
    return (shared_address(dynamic) + 1023) & ~1023u;
}

DEVICE void init_barrier(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers known to the cluster and to the copy engine.
DEVICE void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}

DEVICE void arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }

DEVICE void arrive_expecting(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

DEVICE void complete_bytes(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

DEVICE bool passed(u32 barrier, u32 phase) {
    u32 is;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(is)
                 : "r"(barrier), "r"(phase)
                 : "memory");
    return is != 0;
}

// Waits for a phase. What has been given up once is given up at once from then on, so that no kernel hangs.
DEVICE void wait(u32 barrier, u32 phase, u32& error) {
    u32 polls = 0;
#pragma unroll 1
    while (!passed(barrier, phase)) {
        if (error != 0 || ++polls == kPolls) {
            error |= kGivenUp;
            return;
        }
    }
}

// A barrier that expects nothing more passes with one arrival, unless it was brought more or fewer bytes than it expected.
DEVICE void check_bytes(u32 barrier, u32 phase, u32& error) {
    wait_until(cycles() + kSettled);
    arrive(barrier);
    if (error == 0 && !passed(barrier, phase)) error |= kOtherBytes;
}

DEVICE u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

DEVICE u32 cluster_id() {
    u32 id;
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    return id;
}

// The address of a shared word of this CTA in another one of the cluster.
DEVICE u32 address_in(u32 shared, u32 rank) {
    u32 address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
    return address;
}

// As CUTLASS arrives. Where it releases to the cluster, ptxas puts MEMBAR.ALL.GPU before it.
DEVICE void arrive_remotely(u32 address) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
}
DEVICE void arrive_releasing(u32 address) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
}

DEVICE void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

DEVICE void prefetch(const TensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

DEVICE void load_box(u32 to, const TensorMap* map, u32 x, u32 y, u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

// The box goes to the same place of all CTAs of `mask`, and its bytes to their barriers.
DEVICE void load_box_to(u32 mask, u32 to, const TensorMap* map, u32 x, u32 y, u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>(mask))
        : "memory");
}

DEVICE void store_box(const TensorMap* map, u32 x, u32 y, u32 from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
                 "r"(from)
                 : "memory");
}

DEVICE void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// At most kPending groups have not been read from shared memory, or not been written.
template <int kPending>
DEVICE void wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory"); }
template <int kPending>
DEVICE void wait_written() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory"); }

// One thread of each CTA of a grid that is on the GPU as a whole: all go on at one tick of the global timer. state[1] counts
// arrivals, state[2 + meeting] is the tick, which the last one to arrive sets.
DEVICE void meet(u64* state, u32 meeting, u32& error) {
    if (gridDim.x == 1) return;
    volatile u64* const tick = state + 2 + meeting;
    if (atomicAdd(state + 1, 1ull) + 1 == static_cast<u64>(meeting + 1) * gridDim.x) *tick = nanoseconds() + 4000;
    u32 polls = 0;
    u64 at = *tick;
#pragma unroll 1
    while (at == 0) {
        if (error != 0 || ++polls == kPolls) {
            error |= kGivenUp;
            return;
        }
        at = *tick;
    }
    while (nanoseconds() < at) {}
}

DEVICE void report(u64* state, u32 error) {
    if (error != 0) atomicOr(state, static_cast<u64>(error));
}
