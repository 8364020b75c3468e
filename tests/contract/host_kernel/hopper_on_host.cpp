// Runs the trace build of kernels_cuda/hopper/kernel.cu on a CPU, thread after thread of the recorded CTAs.
// Input: gridDim, struct Params. Output: the rows of each recorded thread, and their counts.
#include "hopper_host_ptx.hpp"

#include "hopper/kernel.cu"

int main(int, char** arguments) {
  std::FILE* const input = std::fopen(arguments[1], "rb");
  static gpusim::Params params;
  if (!input || std::fread(&gridDim, sizeof gridDim, 1, input) != 1) return 2;
  if (std::fread(static_cast<void*>(&params), sizeof params, 1, input) != 1) return 2;
  std::size_t const places = std::size_t(params.recorded_blocks) * gpusim::kThreads / gpusim::kRecordedThreads;
  std::vector<gpusim::int64> rows(places * params.record_capacity * gpusim::kRowWords);
  std::vector<int> counts(places);
  params.records = rows.data();
  params.record_counts = counts.data();
  for (int i = 0; i < params.recorded_blocks; ++i) {
    int const block = params.recorded[i];
    blockIdx = {block % gridDim.x, block / gridDim.x % gridDim.y, block / (gridDim.x * gridDim.y)};
    for (threadIdx.x = 0; threadIdx.x < gpusim::kThreads; ++threadIdx.x) gpusim_hopper(params);
  }
  std::FILE* const output = std::fopen(arguments[2], "wb");
  bool const whole = output && std::fwrite(rows.data(), 8, rows.size(), output) == rows.size() &&
                     std::fwrite(counts.data(), 4, counts.size(), output) == counts.size();
  return whole && std::fclose(output) == 0 ? 0 : 2;
}
