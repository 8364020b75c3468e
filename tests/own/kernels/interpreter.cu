// Each thread interprets one of four programs on its own number: a switch of sixteen operations in a loop.
// An instruction has an operation and an operand. ptxas makes indexed branches of the switch.
extern "C" __global__ void interpreter(const int2* programs, const unsigned* in, unsigned* out, int length, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int2* program = programs + i / 8 % 4 * length;  // eight neighbours have the same
    unsigned value = in[i], other = 1;
    for (int at = 0; at < length; ++at) {
        const int2 instruction = program[at];
        const unsigned operand = instruction.y;
        switch (instruction.x) {
            case 0: value += operand; break;
            case 1: value -= operand; break;
            case 2: value *= operand | 1; break;
            case 3: value ^= operand; break;
            case 4: value = value << (operand & 31); break;
            case 5: value = value >> (operand & 31); break;
            case 6: value = ~value; break;
            case 7: value = value * value + other; break;
            case 8: other = value; break;
            case 9: value += other; break;
            case 10: value = value > other ? value - other : other; break;
            case 11: value = __brev(value); break;
            case 12: value = __popc(value) + operand; break;
            case 13: other = other * 1664525u + 1013904223u; break;
            case 14: value = value / (operand | 1); break;
            default: value ^= value >> 15; other += 1; break;
        }
    }
    out[i] = value ^ other;
}
