// The test bench: clock, reset, memory on the master port, a driver on the register port.
//
// Every function of the C interface takes the pointer that `tandem_open` returned. Only
// `tandem_run`, `tandem_read` and `tandem_write` clock the design.
//
// In a cycle all inputs change right after the rising edge, from the memory's state alone, and
// handshakes are sampled then: the master's outputs come from registers, so they have been stable
// since the edge, and one evaluation per edge is enough. The register port may answer within the
// cycle: during an access the logic is evaluated once more before handshakes are sampled.
#include <memory>
#include <string>

#include "Vtandem.h"
#include "Vtandem___024root.h"
#include "bus.hpp"
#include "constants.hpp"
#include "register_port.hpp"
#include "verilated.h"
#ifdef TANDEM_FST
#include "verilated_fst_c.h"
using Waveform = VerilatedFstC;
#endif
#ifdef TANDEM_VCD
#include "verilated_vcd_c.h"
using Waveform = VerilatedVcdC;
#endif

using Ports = Vtandem___024root;
void Vtandem___024root___eval(Ports*);

struct Event {
    uint64_t cycle;  // since the first cycle with `running`
    uint64_t bits;
};

constexpr uint64_t kNever = ~0ull;
constexpr int kResetCycles = 8;
constexpr uint64_t kHalfPeriod = 5;  // of the waveform's time units

class Machine {
  public:
    Machine() : top_(&context_), p_(*top_.rootp) {
#if defined(TANDEM_FST) || defined(TANDEM_VCD)
        context_.traceEverOn(true);
#endif
        p_.aresetn = 0;
        top_.eval();
        for (int i = 0; i < kResetCycles; ++i) cycle();
        verdict_.expect(!p_.m_axi_arvalid && !p_.m_axi_awvalid && !p_.m_axi_wvalid,
                        kValidInReset);
        p_.aresetn = 1;
    }

    void cycle() {
        // The run's first cycle is the one before `running` is seen.
        const unsigned silent = origin_ == kNever ? 0 : silence_.held(now_ + 1 - origin_);
        const unsigned stalled = stalls_.held(now_ - armed_);
        const unsigned held = stalled | silent;
        reads_.drive(p_, timing_, memory_, now_, held);
        writes_.drive(p_, timing_, now_, held);
        registers_.drive(p_, stalled);
        settle();
        registers_.sample(p_);
        reads_.sample(p_, timing_, verdict_, now_);
        writes_.sample(p_, timing_, memory_, verdict_, now_);
        if (p_.events) note();
        p_.aclk = 1;
        evaluate();
        fall();
        ++now_;
    }

    Outcome run(uint64_t cycles) {
        for (uint64_t i = 0; i < cycles; ++i) {
            if (p_.irq) return kInterrupt;
            if (verdict_.broken) return kRuleBroken;
            cycle();
        }
        return kCyclesSpent;
    }

    // Clock until the register access ends. Returns false if it lasts longer than `limit` cycles.
    bool finish_access(uint64_t limit) {
        for (uint64_t i = 0; registers_.active(); ++i) {
            if (i == limit) return false;
            cycle();
        }
        return true;
    }

    // What memory owes from a launch with a silence after which nothing is answered is forgotten.
    void be_silent(const Silence& silence) {
        if (silence_.lost) {
            reads_.forget();
            writes_.forget();
        }
        silence_ = silence;
    }

    void arm(bool events) {
        armed_ = now_;
        origin_ = kNever;
        wants_events_ = events;
        events_.clear();
        reads_.begin_launch();
        writes_.begin_launch();
    }

    uint64_t cycles() const { return origin_ == kNever ? 0 : now_ - origin_; }

    bool open_waveform(const char* path) {
#if defined(TANDEM_FST) || defined(TANDEM_VCD)
        waveform_ = std::make_unique<Waveform>();
        top_.trace(waveform_.get(), 99);
        waveform_->open(path);
        return waveform_->isOpen();
#else
        return path == nullptr;
#endif
    }

    void close_waveform() {
#if defined(TANDEM_FST) || defined(TANDEM_VCD)
        if (waveform_) waveform_->close();
        waveform_.reset();
#endif
    }

    Timing timing_;
    Memory memory_;
    Stalls stalls_;
    Silence silence_;
    Verdict verdict_;
    RegisterPort<Ports> registers_;
    std::vector<Event> events_;

  private:
#if defined(TANDEM_FST) || defined(TANDEM_VCD)
    void evaluate() { top_.eval(); }

    // The clock is still high: waveforms show that inputs change right after the rising edge.
    void settle() {
        evaluate();
        if (waveform_) waveform_->dump(2 * kHalfPeriod * now_);
        p_.aclk = 0;
        evaluate();
        if (waveform_) waveform_->dump(2 * kHalfPeriod * now_ + kHalfPeriod);
    }

    void fall() {}

    std::unique_ptr<Waveform> waveform_;
#else
    // The generated function itself: its wrapper eval() takes two locks that only threads need.
    void evaluate() { Vtandem___024root___eval(&p_); }

    void settle() {
        if (registers_.active()) evaluate();
    }

    void fall() {
        p_.aclk = 0;
        evaluate();
    }
#endif

    void note() {
        if (origin_ == kNever) {
            if (!(p_.events & kRunning)) return;
            origin_ = now_;
        }
        const uint32_t bits = p_.events & (kRunning - 1);
        if (bits && wants_events_) events_.push_back({now_ - origin_, bits});
    }

    VerilatedContext context_;
    Vtandem top_;
    Ports& p_;
    ReadBus<Ports> reads_;
    WriteBus<Ports> writes_;
    uint64_t now_ = 0, armed_ = 0, origin_ = kNever;
    bool wants_events_ = false;
};

#define TANDEM_API extern "C" __attribute__((visibility("default")))

TANDEM_API Machine* tandem_open() { return new Machine; }

TANDEM_API void tandem_close(Machine* machine) { delete machine; }

TANDEM_API void tandem_memory(Machine* machine, uint8_t* bytes, uint64_t size) {
    machine->memory_.bytes = bytes;
    machine->memory_.size = size;
}

TANDEM_API void tandem_timing(Machine* machine, uint64_t latency, uint64_t interval,
                              uint64_t in_flight) {
    machine->timing_ = {latency, interval, in_flight};
}

TANDEM_API void tandem_stalls(Machine* machine, uint64_t threshold, uint64_t seed) {
    machine->stalls_ = {threshold, seed};
}

TANDEM_API void tandem_silence(Machine* machine, uint32_t channels, uint64_t begin,
                               uint64_t cycles, int lost) {
    machine->be_silent({channels, begin, cycles, lost != 0});
}

TANDEM_API void tandem_refuse(Machine* machine, const Range* ranges, uint64_t count) {
    machine->memory_.refused.assign(ranges, ranges + count);
}

TANDEM_API void tandem_arm(Machine* machine, int events) { machine->arm(events != 0); }

TANDEM_API int tandem_run(Machine* machine, uint64_t cycles) { return machine->run(cycles); }

TANDEM_API uint64_t tandem_cycles(Machine* machine) { return machine->cycles(); }

TANDEM_API const char* tandem_broken(Machine* machine) { return machine->verdict_.broken; }

// Returns the AXI response, or -1 if there is none within `limit` cycles.
TANDEM_API int tandem_write(Machine* machine, uint32_t address, uint32_t data, uint64_t limit) {
    machine->registers_.begin_write(address, data);
    return machine->finish_access(limit) ? machine->registers_.response() : -1;
}

TANDEM_API int tandem_read(Machine* machine, uint32_t address, uint32_t* data, uint64_t limit) {
    machine->registers_.begin_read(address);
    if (!machine->finish_access(limit)) return -1;
    *data = machine->registers_.data();
    return machine->registers_.response();
}

TANDEM_API uint64_t tandem_events(Machine* machine, const Event** events) {
    *events = machine->events_.data();
    return machine->events_.size();
}

TANDEM_API int tandem_open_waveform(Machine* machine, const char* path) {
    return machine->open_waveform(path) ? 0 : -1;
}

TANDEM_API void tandem_close_waveform(Machine* machine) { machine->close_waveform(); }
