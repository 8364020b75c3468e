// Runs kernels_cuda/kernel.cu, or with GPUSIM_HOST_REDUCTION reduction.cu, on the CPU, CTA by CTA in launch order:
// kernel_on_host INPUT OUTPUT.
//
// INPUT: seventeen int64 (bytes of a, b, source, output; grid x, y, z; threads; shared bytes; k iterations; semaphores;
// bytes of the records; record counts; record capacity; recorded blocks; bytes of the bias; bytes of the partial sums),
// eight int32 (recorded), two floats (alpha, beta), then a, b, source, the initial output, bias and partial sums.
// OUTPUT: output, partial sums, semaphores, records, record counts.
#include "host_ptx.hpp"

#if defined(HOST_WIND_DOWN)
#include "two_problems.hpp"
#define Pipelined TwoProblems  // what kernel.cu runs
#endif
#if defined(GPUSIM_HOST_REDUCTION)
#include "reduction.cu"
#else
#include "kernel.cu"
#endif

namespace {

constexpr std::size_t kStackBytes = 128 << 10;

gpusim::Params params;

void run_thread() {
#if defined(GPUSIM_HOST_REDUCTION)
  gpusim_reduction(params);
#else
  gpusim_kernel(params);
#endif
  host::fibers[host::thread].done = true;
  host::yield();
}

void run_cta(int threads, std::size_t shared_bytes) {
  host::shared.assign(shared_bytes, 0xff);  // NaN, in f16 and in f32
  host::warps.assign(threads / 32, {});
  host::cta = {};
  host::fibers.clear();
  host::fibers.resize(threads);
  for (auto& fiber : host::fibers) {
    getcontext(&fiber.context);
    fiber.stack.reset(new char[kStackBytes]);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, run_thread, 0);
  }
  for (int left = threads; left;) {
    left = 0;
    for (host::thread = 0; host::thread < threads; ++host::thread) {
      if (host::fibers[host::thread].done) continue;
      swapcontext(&host::scheduler, &host::fibers[host::thread].context);
      left += !host::fibers[host::thread].done;
    }
  }
}

template <class Value>
std::vector<Value> read(std::FILE* file, std::size_t count) {
  std::vector<Value> values(count + 1);  // never without storage
  if (std::fread(values.data(), sizeof(Value), count, file) != count) host::fail("the input is too short");
  return values;
}

// A 16-byte aligned copy of the file's next bytes, known to the checks of global accesses.
char* tensor(std::FILE* file, std::size_t bytes) {
  auto* storage = static_cast<char*>(std::aligned_alloc(256, bytes / 256 * 256 + 256));
  if (std::fread(storage, 1, bytes, file) != bytes) host::fail("the input is too short");
  host::regions.push_back({storage, bytes});
  return storage;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) host::fail("usage: kernel_on_host INPUT OUTPUT");
  std::FILE* const input = std::fopen(argv[1], "rb");
  if (!input) host::fail("no input");
  auto const header = read<std::int64_t>(input, 17);
  auto const recorded = read<std::int32_t>(input, gpusim::kRecordedBlocks);
  auto const scales = read<float>(input, 2);
  params.a = tensor(input, header[0]);
  params.b = tensor(input, header[1]);
  params.source = tensor(input, header[2]);
  params.output = tensor(input, header[3]);
  params.bias = tensor(input, header[15]);
  params.partial = tensor(input, header[16]);
  std::vector<int> semaphores(header[10] + 1), counts(header[12] + 1);
  std::vector<char> records(header[11] + 1, char(0xff));
  params.semaphore = semaphores.data();
  params.alpha = scales[0];
  params.beta = scales[1];
  params.records = records.data();
  params.record_counts = counts.data();
  params.record_capacity = int(header[13]);
  params.recorded_blocks = int(header[14]);
  for (int index = 0; index < gpusim::kRecordedBlocks; ++index) params.recorded[index] = recorded[index];
  params.k_iterations = int(header[9]);
  for (host::block[2] = 0; host::block[2] < header[6]; ++host::block[2]) {
    for (host::block[1] = 0; host::block[1] < header[5]; ++host::block[1]) {
      for (host::block[0] = 0; host::block[0] < header[4]; ++host::block[0]) run_cta(int(header[7]), header[8]);
    }
  }
  std::FILE* const output = std::fopen(argv[2], "wb");
  if (!output) host::fail("no output");
  std::fwrite(params.output, 1, header[3], output);
  std::fwrite(params.partial, 1, header[16], output);
  std::fwrite(semaphores.data(), sizeof(int), header[10], output);
  std::fwrite(records.data(), 1, header[11], output);
  std::fwrite(counts.data(), sizeof(int), header[12], output);
  return std::fclose(output);
}
