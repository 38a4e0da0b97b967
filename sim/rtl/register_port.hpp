// An AXI4-Lite master for the register port: one access at a time, with independent channels.
#pragma once

#include <cstdint>

#include "constants.hpp"

template <class Ports>
class RegisterPort {
  public:
    bool active() const { return address_ != kDone || data_ != kDone || answer_ != kDone; }

    void begin_write(uint32_t address, uint32_t data) {
        write_ = true;
        register_ = address;
        value_ = data;
        address_ = data_ = answer_ = kWaiting;
    }

    void begin_read(uint32_t address) {
        write_ = false;
        register_ = address;
        address_ = answer_ = kWaiting;
    }

    uint32_t data() const { return value_; }
    uint8_t response() const { return response_; }

    // `held` delays the start of a channel; VALID stays high until the handshake (AXI4, A3.2.1).
    void drive(Ports& p, unsigned held) {
        if (!active() && !driven_) return;
        driven_ = active();
        begin(address_, held & (write_ ? kAw : kAr));
        begin(data_, held & kW);
        begin(answer_, held & (write_ ? kB : kR));
        p.s_axi_awvalid = write_ && address_ == kRaised;
        p.s_axi_arvalid = !write_ && address_ == kRaised;
        p.s_axi_wvalid = data_ == kRaised;
        p.s_axi_bready = write_ && answer_ == kRaised;
        p.s_axi_rready = !write_ && answer_ == kRaised;
        p.s_axi_awaddr = p.s_axi_araddr = register_;
        p.s_axi_wdata = value_;
        p.s_axi_wstrb = 0xF;
    }

    void sample(const Ports& p) {
        if (p.s_axi_awvalid && p.s_axi_awready) address_ = kDone;
        if (p.s_axi_wvalid && p.s_axi_wready) data_ = kDone;
        if (p.s_axi_arvalid && p.s_axi_arready) address_ = kDone;
        if (p.s_axi_bvalid && p.s_axi_bready) {
            answer_ = kDone;
            response_ = p.s_axi_bresp;
        }
        if (p.s_axi_rvalid && p.s_axi_rready) {
            answer_ = kDone;
            response_ = p.s_axi_rresp;
            value_ = p.s_axi_rdata;
        }
    }

  private:
    enum Phase : uint8_t { kDone, kWaiting, kRaised };

    static void begin(Phase& phase, unsigned held) {
        if (phase == kWaiting && !held) phase = kRaised;
    }

    bool write_ = false, driven_ = false;
    uint32_t register_ = 0, value_ = 0;
    uint8_t response_ = 0;
    Phase address_ = kDone, data_ = kDone, answer_ = kDone;
};
