// The two functions of LZ4 that Verilator's FST writer calls, so that waveforms need no library.
//
// Greedy matching over a table of four-byte hashes; the output is the LZ4 block format.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

namespace lz4 {

constexpr int kLeastMatch = 4, kTailLiterals = 5, kNoMatchTail = 12, kFarthest = 65535;
constexpr int kHashBits = 14;

inline uint8_t* put_length(uint8_t* to, int beyond) {
    for (; beyond >= 255; beyond -= 255) *to++ = 255;
    *to++ = uint8_t(beyond);
    return to;
}

// One sequence: literals, then (unless `match` is 0) a copy of `match` bytes at distance `back`.
inline uint8_t* put(uint8_t* to, const uint8_t* literals, int count, int back, int match) {
    uint8_t* token = to++;
    const int copied = match ? match - kLeastMatch : 0;
    *token = uint8_t((count < 15 ? count : 15) << 4 | (copied < 15 ? copied : 15));
    if (count >= 15) to = put_length(to, count - 15);
    if (count) std::memcpy(to, literals, count);
    to += count;
    if (!match) return to;
    *to++ = uint8_t(back);
    *to++ = uint8_t(back >> 8);
    return copied >= 15 ? put_length(to, copied - 15) : to;
}

}  // namespace lz4

inline int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
    using namespace lz4;
    if (capacity < LZ4_compressBound(size)) return 0;
    const uint8_t* from = reinterpret_cast<const uint8_t*>(source);
    uint8_t* const start = reinterpret_cast<uint8_t*>(target);
    uint8_t* to = start;
    std::vector<int> last(1 << kHashBits, -1 - kFarthest);
    const auto word = [from](int at) {
        uint32_t value;
        std::memcpy(&value, from + at, sizeof value);
        return value;
    };
    int anchor = 0;
    for (int at = 0; at < size - kNoMatchTail;) {
        int& slot = last[word(at) * 2654435761u >> (32 - kHashBits)];
        const int seen = slot;
        slot = at;
        if (at - seen > kFarthest || word(seen) != word(at)) {
            ++at;
            continue;
        }
        int match = kLeastMatch;
        while (at + match < size - kTailLiterals && from[seen + match] == from[at + match]) ++match;
        to = put(to, from + anchor, at - anchor, at - seen, match);
        anchor = at += match;
    }
    return int(put(to, from + anchor, size - anchor, 0, 0) - start);
}
