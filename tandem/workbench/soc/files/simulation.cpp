// Clocks the system on chip and shows its console, until the firmware ends it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "Vsoc.h"
#include "verilated.h"

namespace {

constexpr int kEndOfTransmission = 4;
constexpr int kTooLong = 3;

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: %s CYCLES\n", arguments[0]);
        return 2;
    }
    const uint64_t most = std::strtoull(arguments[1], nullptr, 10);
    VerilatedContext context;
    Vsoc soc{&context};
    soc.serial_source_ready = 1;
    soc.serial_sink_valid = 0;
    soc.serial_sink_data = 0;
    const std::clock_t begin = std::clock();
    bool ending = false;
    int status = kTooLong;
    uint64_t cycle = 0;
    for (; cycle < most; ++cycle) {
        soc.sys_clk = 0;
        soc.eval();
        if (soc.serial_source_valid) {
            const int byte = soc.serial_source_data;
            if (ending) {
                status = byte;
                break;
            }
            if (byte == kEndOfTransmission) {
                ending = true;
            } else {
                std::putchar(byte);
                if (byte == '\n') std::fflush(stdout);
            }
        }
        soc.sys_clk = 1;
        soc.eval();
    }
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("simulated %llu cycles in %.2f s\n", static_cast<unsigned long long>(cycle), seconds);
    soc.final();
    return status;
}
