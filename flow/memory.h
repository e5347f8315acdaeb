// SPDX-License-Identifier: Apache-2.0
//
// Device memory of the simulator: one AXI4 port (512-bit data, INCR) over a shared byte array.
//
// Latency    A read accepted in clock t gives its first beat in clock t + latency at the earliest;
//            a write whose last beat was taken in t is answered in t + latency at the earliest.
// Rate       Beats per clock as fractions, for reads, for writes, and for both together.
// Order      Bursts are answered in the order of their addresses, reads and writes apart. A read
//            sees memory as it is when its address is accepted, a write changes memory when its
//            response appears: an engine that does not wait for a response it needs reads old data.
// Errors     Beats in a fault's range get its response, those beyond memory DECERR; they change
//            nothing. The response of a write is the worst of its beats.
// Checks     Size, burst type, alignment, 4 KiB crossing, WLAST, and that what is offered stays.
// Limit      Requests::checked: every request is taken, and the 17th read or write of an engine's port
//            that is outstanding is a failure. Requests::held: the port takes 16 of each, as an
//            engine's port does for the blocks after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "flow/harness.h"

namespace jackdaw {

constexpr unsigned BEAT_BYTES = 64;
constexpr unsigned PAGE_BYTES = 4096;
constexpr unsigned MAX_BEATS = 64;
constexpr unsigned MAX_OUTSTANDING = 16;  // reads, and writes, of an engine's port
constexpr unsigned ENGINE_ID_BITS = 4;    // above them an ID has the number of the engine's port
constexpr int DECERR = 3;

enum class Requests { checked, held };

/// Mirrored by flow.library.MemoryConfig. A rate is num / den beats per clock.
struct MemoryConfig {
    uint32_t latency;             // clocks, 1 or more
    uint32_t read_num, read_den;  // at most 1 beat per clock
    uint32_t write_num, write_den;
    uint32_t shared_num, shared_den;  // both together; shared_den 0: separate channels
    uint32_t max_delay;               // up to so many more clocks for each burst, at random
    uint64_t seed;
};

struct Fault {
    uint64_t first, last;  // byte addresses, both included
    int response;
    int direction;  // 1 read, 2 write, 3 both
};

/// Beats that may pass: num / den of them each clock, saved up to one clock's worth.
struct Credit {
    uint32_t num, den, value;
    Credit(uint32_t n, uint32_t d) : num(n), den(d), value(cap()) {}
    uint32_t cap() const { return den ? num + den - 1 : 0; }
    void refill() { value = std::min(cap(), value + num); }
    void fill() { value = cap(); }
    bool has(uint32_t beats) const { return !den || value >= beats * den; }
    void take() { value -= den; }
    void refund() { value = std::min(cap(), value + den); }
};

struct Burst {
    uint64_t address;
    uint64_t ready;  // clock of the first beat (read) or of the response (write)
    unsigned id, beats, next;
    int response[MAX_BEATS];
    uint8_t data[PAGE_BYTES];
    uint64_t strobes[MAX_BEATS];  // write
};

/// A queue of bursts in a ring of places that grows when it is full.
struct Bursts {
    std::vector<Burst> slots = std::vector<Burst>(MAX_OUTSTANDING);
    unsigned first = 0, count = 0;
    Burst& at(unsigned index) { return slots[(first + index) % slots.size()]; }
    Burst& push() {
        if (count == slots.size()) {
            std::rotate(slots.begin(), slots.begin() + first, slots.end());
            first = 0;
            slots.resize(2 * slots.size());
        }
        return at(count++);
    }
    void pop() {
        first = (first + 1) % slots.size();
        count--;
    }
    unsigned of_engine_port(unsigned port) {
        unsigned number = 0;
        for (unsigned i = 0; i < count; i++) number += at(i).id >> ENGINE_ID_BITS == port;
        return number;
    }
};

/// A pin of a port: of a device an element of an array, of a block the pin itself.
template <class T, std::size_t N>
T& pin(T (&pins)[N], int p) {
    return pins[p];
}
template <class T, std::size_t N>
T& pin(VlUnpacked<T, N>& pins, int p) {
    return pins[p];
}
template <class T, std::size_t N>
const T& pin(const VlUnpacked<T, N>& pins, int p) {
    return pins[p];
}
template <class T>
T& pin(T& one, int) {
    return one;
}

class MemoryPort {
  public:
    MemoryPort(const MemoryConfig& config, uint8_t* memory, uint64_t bytes,
               const std::vector<Fault>* faults, int port, Requests requests)
        : config_(config),
          requests_(requests),
          memory_(memory),
          bytes_(bytes),
          faults_(faults),
          random_(config.seed * 0x9E3779B97F4A7C15u + static_cast<unsigned>(port) + 1),
          read_credit_(config.read_num, config.read_den),
          write_credit_(config.write_num, config.write_den),
          shared_credit_(config.shared_num, config.shared_den) {}

    template <typename Top>
    void start(Top& top, int p) {
        pin(top.m_axi_rvalid_i, p) = pin(top.m_axi_bvalid_i, p) = 0;
        dirty_ = true;
        drive(top, p);
    }

    /// Sets the inputs of the next clock that `step` chose.
    template <typename Top>
    void drive(Top& top, int p) {
        if (!dirty_) return;
        dirty_ = false;
        pin(top.m_axi_arready_i, p) = arready_;
        pin(top.m_axi_awready_i, p) = awready_;
        pin(top.m_axi_wready_i, p) = wready_;
        pin(top.m_axi_rvalid_i, p) = rvalid_;
        if (rvalid_) {
            const Burst& burst = reads_.at(0);
            pin(top.m_axi_rid_i, p) = burst.id;
            pin(top.m_axi_rresp_i, p) = burst.response[burst.next];
            pin(top.m_axi_rlast_i, p) = burst.next + 1 == burst.beats;
            std::memcpy(pin(top.m_axi_rdata_i, p).data(), burst.data + burst.next * BEAT_BYTES,
                        BEAT_BYTES);
        }
        pin(top.m_axi_bvalid_i, p) = bvalid_;
        if (bvalid_) {
            pin(top.m_axi_bid_i, p) = writes_.at(0).id;
            pin(top.m_axi_bresp_i, p) = writes_.at(0).response[0];
        }
    }

    /// Takes the settled handshakes of clock `now` and chooses the inputs of the next one.
    template <typename Top>
    void step(const Top& top, int p, uint64_t now) {
        const bool arvalid = pin(top.m_axi_arvalid_o, p);
        const bool awvalid = pin(top.m_axi_awvalid_o, p);
        const bool wvalid = pin(top.m_axi_wvalid_o, p);
        if (idle_ && !arvalid && !awvalid && !wvalid) return;
        dirty_ = true;
        check_stable(top, p, arvalid, awvalid, wvalid);
        if (arvalid && arready_) accept_read(top, p, now);
        if (rvalid_ && pin(top.m_axi_rready_o, p)) {
            rvalid_ = false;
            if (++reads_.at(0).next == reads_.at(0).beats) reads_.pop();
        }
        if (wready_ && wvalid) {
            take_beat(top, p, now);
        } else if (wready_) {
            write_credit_.refund();
            shared_credit_.refund();
        }
        if (awvalid && awready_) accept_write(top, p);
        if (bvalid_ && pin(top.m_axi_bready_o, p)) {
            bvalid_ = false;
            writes_.pop();
            filled_--;
        }
        choose(now + 1, wvalid);
        idle_ = !reads_.count && !writes_.count && !arvalid && !awvalid && !wvalid;
        if (idle_) {
            read_credit_.fill();
            write_credit_.fill();
            shared_credit_.fill();
        }
    }

  private:
    struct Offer {
        bool stalled = false;
        uint64_t address = 0, strobe = 0;
        unsigned id = 0, length = 0;
        uint8_t data[BEAT_BYTES] = {};
    };

    MemoryConfig config_;
    Requests requests_;
    uint8_t* memory_;
    uint64_t bytes_;
    const std::vector<Fault>* faults_;
    uint64_t random_;
    Credit read_credit_, write_credit_, shared_credit_;
    Bursts reads_, writes_;
    unsigned filled_ = 0;  // writes whose data is complete
    bool arready_ = true, awready_ = true, wready_ = false, rvalid_ = false, bvalid_ = false;
    bool idle_ = true, dirty_ = false, last_was_read_ = false;
    Offer read_offer_, write_offer_, data_offer_;

    static void fail(int p, const std::string& what, uint64_t address) {
        char text[32];
        snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(address));
        throw Failure("memory port " + std::to_string(p) + ": " + what + " at " + text);
    }

    unsigned delay() {
        if (!config_.max_delay) return 0;
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return static_cast<unsigned>(random_ >> 32) % (config_.max_delay + 1);
    }

    int response(uint64_t address, int direction) const {
        if (address + BEAT_BYTES > bytes_) return DECERR;
        for (const Fault& fault : *faults_)
            if (fault.direction & direction && address <= fault.last &&
                address + BEAT_BYTES > fault.first)
                return fault.response;
        return 0;
    }

    static void check_kind(int p, const char* what, uint64_t address, unsigned size,
                           unsigned type) {
        const std::string name = what;
        if (size != 6) fail(p, name + " has a size other than 64 bytes", address);
        if (type != 1) fail(p, name + " is not INCR", address);
    }

    static void check_burst(int p, const char* what, uint64_t address, unsigned beats) {
        const std::string name = what;
        if (address % BEAT_BYTES) fail(p, name + " is not aligned", address);
        if (beats > MAX_BEATS || address % PAGE_BYTES + beats * BEAT_BYTES > PAGE_BYTES)
            fail(p, name + " of " + std::to_string(beats) + " beats crosses 4 KiB", address);
    }

    void check_outstanding(int p, const char* what, Bursts& bursts, const Burst& newest) {
        if (requests_ != Requests::checked) return;
        const unsigned port = newest.id >> ENGINE_ID_BITS;
        const unsigned number = bursts.of_engine_port(port);
        if (number > MAX_OUTSTANDING)
            fail(p, std::to_string(number) + " " + what + " of engine port " + std::to_string(port) +
                        " are outstanding, at most " + std::to_string(MAX_OUTSTANDING) +
                        " may be; the newest is",
                 newest.address);
    }

    template <typename Top>
    void check_stable(const Top& top, int p, bool arvalid, bool awvalid, bool wvalid) {
        check_offer(p, "read address", read_offer_, arvalid, arready_, pin(top.m_axi_araddr_o, p),
                    pin(top.m_axi_arid_o, p), pin(top.m_axi_arlen_o, p));
        check_offer(p, "write address", write_offer_, awvalid, awready_, pin(top.m_axi_awaddr_o, p),
                    pin(top.m_axi_awid_o, p), pin(top.m_axi_awlen_o, p));
        if (data_offer_.stalled &&
            (!wvalid || data_offer_.strobe != pin(top.m_axi_wstrb_o, p) ||
             std::memcmp(data_offer_.data, pin(top.m_axi_wdata_o, p).data(), BEAT_BYTES)))
            fail(p, "write data changed while it waited", 0);
        data_offer_.stalled = wvalid && !wready_;
        if (data_offer_.stalled) {
            data_offer_.strobe = pin(top.m_axi_wstrb_o, p);
            std::memcpy(data_offer_.data, pin(top.m_axi_wdata_o, p).data(), BEAT_BYTES);
        }
    }

    static void check_offer(int p, const char* what, Offer& offer, bool valid, bool ready,
                            uint64_t address, unsigned id, unsigned length) {
        if (offer.stalled && (!valid || offer.address != address || offer.id != id ||
                              offer.length != length))
            fail(p, std::string(what) + " changed while it waited", offer.address);
        offer.stalled = valid && !ready;
        offer.address = address;
        offer.id = id;
        offer.length = length;
    }

    template <typename Top>
    void accept_read(const Top& top, int p, uint64_t now) {
        const uint64_t address = pin(top.m_axi_araddr_o, p);
        const unsigned beats = pin(top.m_axi_arlen_o, p) + 1u;
        if constexpr (requires { top.m_axi_arsize_o; })
            check_kind(p, "read", address, pin(top.m_axi_arsize_o, p), pin(top.m_axi_arburst_o, p));
        check_burst(p, "read", address, beats);
        Burst& burst = reads_.push();
        burst.address = address;
        burst.ready = now + config_.latency + delay();
        burst.id = pin(top.m_axi_arid_o, p);
        burst.beats = beats;
        burst.next = 0;
        for (unsigned i = 0; i < beats; i++) {
            const uint64_t at = address + i * BEAT_BYTES;
            burst.response[i] = response(at, 1);
            if (burst.response[i]) std::memset(burst.data + i * BEAT_BYTES, 0, BEAT_BYTES);
            else std::memcpy(burst.data + i * BEAT_BYTES, memory_ + at, BEAT_BYTES);
        }
        check_outstanding(p, "reads", reads_, burst);
    }

    template <typename Top>
    void accept_write(const Top& top, int p) {
        const uint64_t address = pin(top.m_axi_awaddr_o, p);
        const unsigned beats = pin(top.m_axi_awlen_o, p) + 1u;
        if constexpr (requires { top.m_axi_awsize_o; })
            check_kind(p, "write", address, pin(top.m_axi_awsize_o, p), pin(top.m_axi_awburst_o, p));
        check_burst(p, "write", address, beats);
        Burst& burst = writes_.push();
        burst.address = address;
        burst.id = pin(top.m_axi_awid_o, p);
        burst.beats = beats;
        burst.next = 0;
        check_outstanding(p, "writes", writes_, burst);
    }

    template <typename Top>
    void take_beat(const Top& top, int p, uint64_t now) {
        Burst& burst = writes_.at(filled_);
        std::memcpy(burst.data + burst.next * BEAT_BYTES, pin(top.m_axi_wdata_o, p).data(), BEAT_BYTES);
        burst.strobes[burst.next] = pin(top.m_axi_wstrb_o, p);
        const bool last = ++burst.next == burst.beats;
        if (last != static_cast<bool>(pin(top.m_axi_wlast_o, p)))
            fail(p, "WLAST is wrong in beat " + std::to_string(burst.next), burst.address);
        if (last) {
            burst.ready = now + config_.latency + delay();
            filled_++;
        }
    }

    void commit(Burst& burst) {
        int worst = 0;
        for (unsigned i = 0; i < burst.beats; i++) {
            const uint64_t at = burst.address + i * BEAT_BYTES;
            const int answer = response(at, 2);
            worst = std::max(worst, answer);
            if (answer) continue;
            const uint8_t* data = burst.data + i * BEAT_BYTES;
            if (burst.strobes[i] == ~uint64_t{0}) {
                std::memcpy(memory_ + at, data, BEAT_BYTES);
            } else {
                for (unsigned b = 0; b < BEAT_BYTES; b++)
                    if (burst.strobes[i] >> b & 1) memory_[at + b] = data[b];
            }
        }
        burst.response[0] = worst;
    }

    /// Outputs of clock `next`. Reads and writes take turns where one beat is left for both.
    void choose(uint64_t next, bool write_offered) {
        read_credit_.refill();
        write_credit_.refill();
        shared_credit_.refill();
        bool read = !rvalid_ && reads_.count && reads_.at(0).ready <= next && read_credit_.has(1);
        bool write = filled_ < writes_.count && write_credit_.has(1);
        if (!shared_credit_.has(1)) {
            read = write = false;
        } else if (read && write && !shared_credit_.has(2)) {
            write = write_offered && last_was_read_;
            read = !write;
        }
        if (read) {
            rvalid_ = true;
            read_credit_.take();
            shared_credit_.take();
        }
        if (write) {
            write_credit_.take();
            shared_credit_.take();
        }
        if (read != write) last_was_read_ = read;
        wready_ = write;
        if (!bvalid_ && filled_ && writes_.at(0).ready <= next) {
            bvalid_ = true;
            commit(writes_.at(0));
        }
        const bool all = requests_ == Requests::checked;
        arready_ = all || reads_.count < MAX_OUTSTANDING;
        awready_ = all || writes_.count < MAX_OUTSTANDING;
    }
};

}  // namespace jackdaw
