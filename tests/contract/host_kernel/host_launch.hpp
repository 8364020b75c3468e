// How a launch runs on the CPU: the fibers of a CTA, and tensors that its accesses are checked against.
#pragma once

#include "host_ptx.hpp"

namespace host {

constexpr std::size_t kStackBytes = 128 << 10;

// Runs a kernel in one CTA; `kernel` is called once for each thread.
inline void (*kernel)();

inline void run_thread() {
  kernel();
  fibers[thread].done = true;
  yield();
}

inline void run_cta(int threads, std::size_t shared_bytes) {
  shared.assign(shared_bytes, 0xff);  // NaN, in f16 and in f32
  warps.assign(threads / 32, {});
  cta = {};
  fibers.clear();
  fibers.resize(threads);
  for (auto& fiber : fibers) {
    getcontext(&fiber.context);
    fiber.stack.reset(new char[kStackBytes]);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, run_thread, 0);
  }
  for (int left = threads; left;) {
    left = 0;
    for (thread = 0; thread < threads; ++thread) {
      if (fibers[thread].done) continue;
      swapcontext(&scheduler, &fibers[thread].context);
      left += !fibers[thread].done;
    }
  }
}

template <class Value>
std::vector<Value> read(std::FILE* file, std::size_t count) {
  std::vector<Value> values(count + 1);  // never without storage
  if (std::fread(values.data(), sizeof(Value), count, file) != count) fail("the input is too short");
  return values;
}

// A 16-byte aligned copy of the file's next bytes, known to the checks of global accesses.
inline char* tensor(std::FILE* file, std::size_t bytes) {
  auto* storage = static_cast<char*>(std::aligned_alloc(256, bytes / 256 * 256 + 256));
  if (std::fread(storage, 1, bytes, file) != bytes) fail("the input is too short");
  regions.push_back({storage, bytes});
  return storage;
}

}  // namespace host
