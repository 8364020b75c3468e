// Runs kernels_cuda/kernel.cu, or with GPUSIM_HOST_REDUCTION reduction.cu, on the CPU, CTA by CTA in launch order:
// kernel_on_host INPUT OUTPUT.
//
// INPUT: seventeen int64 (bytes of a, b, source, output; grid x, y, z; threads; shared bytes; k iterations; semaphores;
// bytes of the records; record counts; record capacity; recorded blocks; bytes of the bias; bytes of the partial sums),
// eight int32 (recorded), two floats (alpha, beta), with GPUSIM_RUN_TIME_EXTENTS struct Extents, then a, b, source, the initial output, bias and partial sums.
// OUTPUT: output, partial sums, semaphores, records, record counts.
#include "host_launch.hpp"

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

gpusim::Params params;
gpusim::Extents extents;

void run_kernel() {
#if defined(GPUSIM_HOST_REDUCTION)
  gpusim_reduction(params);
#elif defined(GPUSIM_RUN_TIME_EXTENTS)
  gpusim_kernel(params, extents);
#else
  gpusim_kernel(params);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) host::fail("usage: kernel_on_host INPUT OUTPUT");
  host::kernel = run_kernel;
  std::FILE* const input = std::fopen(argv[1], "rb");
  if (!input) host::fail("no input");
  auto const header = host::read<std::int64_t>(input, 17);
  auto const recorded = host::read<std::int32_t>(input, gpusim::kRecordedBlocks);
  auto const scales = host::read<float>(input, 2);
#if defined(GPUSIM_RUN_TIME_EXTENTS)
  extents = host::read<gpusim::Extents>(input, 1)[0];
#endif
  params.a = host::tensor(input, header[0]);
  params.b = host::tensor(input, header[1]);
  params.source = host::tensor(input, header[2]);
  params.output = host::tensor(input, header[3]);
  params.bias = host::tensor(input, header[15]);
  params.partial = host::tensor(input, header[16]);
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
      for (host::block[0] = 0; host::block[0] < header[4]; ++host::block[0]) host::run_cta(int(header[7]), header[8]);
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
