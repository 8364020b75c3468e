// Runs kernels_cuda/attention/kernel.cu on the CPU, CTA by CTA in launch order: attention_on_host INPUT OUTPUT.
//
// INPUT: fifteen int64 (bytes of q, k, v, output, buffer, log-sum-exp; grid x, y, z; threads; shared bytes; bytes of the
// records; record counts; record capacity; recorded blocks), eight int32 (recorded), one float (scale * log2(e)), query
// lengths and key lengths (int32, one for each batch), then q, k, v, the initial output, buffer and log-sum-exp.
// OUTPUT: output, log-sum-exp, records, record counts.
#include "host_launch.hpp"
#include "host_softmax_ptx.hpp"

#include "attention/kernel.cu"

namespace {

gpusim::AttentionParams params;

void run_kernel() { gpusim_attention(params); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) host::fail("usage: attention_on_host INPUT OUTPUT");
  host::kernel = run_kernel;
  std::FILE* const input = std::fopen(argv[1], "rb");
  if (!input) host::fail("no input");
  auto const header = host::read<std::int64_t>(input, 15);
  auto const recorded = host::read<std::int32_t>(input, gpusim::kRecordedBlocks);
  params.scale_log2 = host::read<float>(input, 1)[0];
  auto const query_lengths = host::read<std::int32_t>(input, header[8]);
  auto const key_lengths = host::read<std::int32_t>(input, header[8]);
  params.query_lengths = query_lengths.data();
  params.key_lengths = key_lengths.data();
  params.common.a = host::tensor(input, header[0]);
  params.common.b = host::tensor(input, header[1]);
  params.v = host::tensor(input, header[2]);
  params.common.output = host::tensor(input, header[3]);
  params.common.partial = host::tensor(input, header[4]);
  params.log_sum_exp = reinterpret_cast<float*>(host::tensor(input, header[5]));
  std::vector<char> records(header[11] + 1, char(0xff));
  std::vector<int> counts(header[12] + 1);
  params.common.records = records.data();
  params.common.record_counts = counts.data();
  params.common.record_capacity = int(header[13]);
  params.common.recorded_blocks = int(header[14]);
  for (int index = 0; index < gpusim::kRecordedBlocks; ++index) params.common.recorded[index] = recorded[index];
  for (host::block[2] = 0; host::block[2] < header[8]; ++host::block[2]) {
    for (host::block[1] = 0; host::block[1] < header[7]; ++host::block[1]) {
      for (host::block[0] = 0; host::block[0] < header[6]; ++host::block[0]) host::run_cta(int(header[9]), header[10]);
    }
  }
  std::FILE* const output = std::fopen(argv[2], "wb");
  if (!output) host::fail("no output");
  std::fwrite(params.common.output, 1, header[3], output);
  std::fwrite(params.log_sum_exp, 1, header[5], output);
  std::fwrite(records.data(), 1, header[11], output);
  std::fwrite(counts.data(), sizeof(int), header[12], output);
  return std::fclose(output);
}
