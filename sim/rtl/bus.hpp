// Memory on the AXI4 master: data, timing, random stalls, and checks of the bus protocol.
//
// Timing follows hw/memory_model.py. In each cycle `drive` sets the design's inputs from the state
// before the cycle, and `sample` processes the cycle's handshakes. `Ports` is the class that
// Verilator generates; its members have the names of the ports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "constants.hpp"

// Random bits as a function of seed and cycle, the same in both RTL engines.
struct Stalls {
    uint64_t threshold = 0;  // of 1 << kStallBits: the probability that a channel stalls
    uint64_t seed = 0;

    // The channels that stall in a cycle, as bits of `Channel`.
    unsigned held(uint64_t cycle) const {
        if (threshold == 0) return 0;
        uint64_t bits = mix(seed + (cycle + 1) * kStreamIncrement);
        unsigned mask = 0;
        for (unsigned channel = kAr; channel <= kB; channel <<= 1, bits >>= kStallBits)
            if ((bits & ((1u << kStallBits) - 1)) < threshold) mask |= channel;
        return mask;
    }

  private:
    static uint64_t mix(uint64_t x) {  // the finaliser of SplitMix64
        x = (x ^ (x >> 30)) * kMix0;
        x = (x ^ (x >> 27)) * kMix1;
        return x ^ (x >> 31);
    }
};

// Channels on which nothing happens from cycle `begin` of a run on, for `cycles` cycles.
struct Silence {
    unsigned channels = 0;
    uint64_t begin = 0, cycles = 0;
    bool lost = false;

    unsigned held(uint64_t cycle) const {
        return cycle >= begin && cycle - begin < cycles ? channels : 0;
    }
};

struct Range {
    uint64_t start, end;
};

struct Memory {
    uint8_t* bytes = nullptr;
    uint64_t size = 0;  // a multiple of every bus width
    std::vector<Range> refused;

    Response response(uint64_t address, uint64_t count) const {
        if (address >= size || size - address < count) return kDecerr;
        for (const Range& range : refused)
            if (address < range.end && range.start < address + count) return kSlverr;
        return kOkay;
    }
};

struct Timing {
    uint64_t latency = 1, interval = 1, in_flight = 1;
};

// The first protocol rule that the master broke, or null.
struct Verdict {
    const char* broken = nullptr;

    void expect(bool kept, const char* rule) {
        if (!kept && broken == nullptr) broken = rule;
    }
};

struct Address {
    uint64_t address;
    uint32_t length, size, burst, cache, prot, id;
    bool operator==(const Address&) const = default;
};

// The rules for one address channel.
class AddressRules {
  public:
    // The messages for broken rules.
    AddressRules(const char* stable, const char* shape, const char* page)
        : stable_(stable), shape_(shape), page_(page) {}

    void check(Verdict& verdict, bool valid, bool ready, const Address& now, uint64_t beat_bytes) {
        verdict.expect(!waiting_ || (valid && now == before_), stable_);
        waiting_ = valid && !ready;
        if (!valid) return;
        before_ = now;
        // AXI also allows unaligned bursts; the design must not issue any.
        verdict.expect(now.burst == kIncr && (1ull << now.size) == beat_bytes &&
                           now.address % beat_bytes == 0,
                       shape_);
        const uint64_t first = now.address & ~(beat_bytes - 1);
        const uint64_t last = first + now.length * beat_bytes;
        verdict.expect(first / kPageBytes == last / kPageBytes, page_);
    }

    bool waiting() const { return waiting_; }

  private:
    const char *stable_, *shape_, *page_;
    bool waiting_ = false;
    Address before_{};
};

template <class Ports>
class ReadBus {
  public:
    static constexpr uint64_t kBeat = sizeof(Ports::m_axi_rdata);

    // The next beat need not keep its distance from a beat of an earlier launch.
    void begin_launch() { next_beat_ = 0; }

    // Answer nothing of what was accepted until now.
    void forget() {
        bursts_.clear();
        offering_ = false;
    }

    void drive(Ports& p, const Timing& timing, const Memory& memory, uint64_t now, unsigned held) {
        p.m_axi_arready = bursts_.size() < timing.in_flight && !(held & kAr);
        if (!offering_ && !bursts_.empty() && !(held & kR) &&
            now >= std::max(bursts_.front().ready, next_beat_))
            offer(p, memory);
        p.m_axi_rvalid = offering_;
    }

    void sample(const Ports& p, const Timing& timing, Verdict& verdict, uint64_t now) {
        if (offering_ && p.m_axi_rready) {
            offering_ = false;
            next_beat_ = now + timing.interval;
            Pending& burst = bursts_.front();
            burst.address += kBeat;
            if (--burst.beats == 0) bursts_.pop_front();
        }
        if (!p.m_axi_arvalid && !rules_.waiting()) return;
        const Address address{p.m_axi_araddr, p.m_axi_arlen,  p.m_axi_arsize, p.m_axi_arburst,
                              p.m_axi_arcache, p.m_axi_arprot, p.m_axi_arid};
        rules_.check(verdict, p.m_axi_arvalid, p.m_axi_arready, address, kBeat);
        if (p.m_axi_arvalid && p.m_axi_arready)
            bursts_.push_back({address.address & ~(kBeat - 1), address.length + 1,
                               now + timing.latency, uint8_t(address.id)});
    }

  private:
    struct Pending {
        uint64_t address, beats, ready;
        uint8_t id;
    };

    void offer(Ports& p, const Memory& memory) {
        const Pending& burst = bursts_.front();
        const Response response = memory.response(burst.address, kBeat);
        if (response == kOkay)
            std::memcpy(&p.m_axi_rdata, memory.bytes + burst.address, kBeat);
        else
            std::memset(&p.m_axi_rdata, 0, kBeat);
        p.m_axi_rresp = response;
        p.m_axi_rlast = burst.beats == 1;
        p.m_axi_rid = burst.id;
        offering_ = true;
    }

    std::deque<Pending> bursts_;
    uint64_t next_beat_ = 0;
    bool offering_ = false;
    AddressRules rules_{kArStable, kArShape, kArPage};
};

template <class Ports>
class WriteBus {
  public:
    static constexpr uint64_t kBeat = sizeof(Ports::m_axi_wdata);

    // See `ReadBus`.
    void begin_launch() { next_beat_ = 0; }

    // Acknowledge nothing of what was accepted until now.
    void forget() {
        answers_.clear();
        answering_ = false;
        for (Pending& burst : bursts_) burst.lost = true;
    }

    void drive(Ports& p, const Timing& timing, uint64_t now, unsigned held) {
        p.m_axi_awready = bursts_.size() + answers_.size() < timing.in_flight && !(held & kAw);
        p.m_axi_wready = !bursts_.empty() && now >= next_beat_ && !(held & kW);
        if (!answering_ && !answers_.empty() && now >= answers_.front().ready && !(held & kB)) {
            answering_ = true;
            p.m_axi_bresp = answers_.front().response;
            p.m_axi_bid = answers_.front().id;
        }
        p.m_axi_bvalid = answering_;
    }

    void sample(const Ports& p, const Timing& timing, Memory& memory, Verdict& verdict,
                uint64_t now) {
        if (answering_ && p.m_axi_bready) {
            answering_ = false;
            answers_.pop_front();
        }
        sample_data(p, timing, memory, verdict, now);
        if (!p.m_axi_awvalid && !rules_.waiting()) return;
        const Address address{p.m_axi_awaddr, p.m_axi_awlen,  p.m_axi_awsize, p.m_axi_awburst,
                              p.m_axi_awcache, p.m_axi_awprot, p.m_axi_awid};
        rules_.check(verdict, p.m_axi_awvalid, p.m_axi_awready, address, kBeat);
        if (p.m_axi_awvalid && p.m_axi_awready)
            bursts_.push_back({address.address & ~(kBeat - 1), address.length + 1, kOkay,
                               uint8_t(address.id)});
    }

  private:
    struct Pending {
        uint64_t address, beats;
        Response response;
        uint8_t id;
        bool lost = false;
    };
    struct Answer {
        uint64_t ready;
        Response response;
        uint8_t id;
    };

    void sample_data(const Ports& p, const Timing& timing, Memory& memory, Verdict& verdict,
                     uint64_t now) {
        const bool same = p.m_axi_wvalid && p.m_axi_wlast == before_last_ &&
                          p.m_axi_wstrb == before_strobes_ &&
                          std::memcmp(&p.m_axi_wdata, before_, kBeat) == 0;
        verdict.expect(!waiting_ || same, kWStable);
        waiting_ = p.m_axi_wvalid && !p.m_axi_wready;
        if (waiting_) {
            before_last_ = p.m_axi_wlast;
            before_strobes_ = p.m_axi_wstrb;
            std::memcpy(before_, &p.m_axi_wdata, kBeat);
        }
        if (!p.m_axi_wvalid || !p.m_axi_wready) return;
        Pending& burst = bursts_.front();
        verdict.expect(bool(p.m_axi_wlast) == (burst.beats == 1), kWLast);
        const Response response = memory.response(burst.address, kBeat);
        if (response == kOkay) store(p, memory.bytes + burst.address);
        burst.response = std::max(burst.response, response);
        burst.address += kBeat;
        next_beat_ = now + timing.interval;
        if (--burst.beats != 0) return;
        if (!burst.lost) answers_.push_back({now + timing.latency, burst.response, burst.id});
        bursts_.pop_front();
    }

    static void store(const Ports& p, uint8_t* to) {
        const uint64_t strobes = p.m_axi_wstrb;
        const uint8_t* from = reinterpret_cast<const uint8_t*>(&p.m_axi_wdata);
        if (strobes == ~0ull >> (64 - kBeat)) {
            std::memcpy(to, from, kBeat);
            return;
        }
        for (uint64_t byte = 0; byte < kBeat; ++byte)
            if (strobes >> byte & 1) to[byte] = from[byte];
    }

    std::deque<Pending> bursts_;   // address accepted, data incomplete
    std::deque<Answer> answers_;   // data complete, B handshake outstanding
    uint64_t next_beat_ = 0;
    bool answering_ = false;
    AddressRules rules_{kAwStable, kAwShape, kAwPage};
    bool waiting_ = false, before_last_ = false;
    uint64_t before_strobes_ = 0;
    uint8_t before_[kBeat]{};
};
