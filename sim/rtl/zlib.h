// The two functions of zlib that Verilator's FST writer calls, so that waveforms need no library.
//
// The output is a zlib stream of stored (uncompressed) blocks: the writer passes only small data to
// zlib, and keeps the shorter of input and output.
#pragma once

#include <cstdint>
#include <cstring>

using uLong = unsigned long;
using uLongf = unsigned long;
using Bytef = unsigned char;
constexpr int Z_OK = 0, Z_BUF_ERROR = -5;

namespace zlib {
constexpr uLong kBlock = 65535, kHeader = 2, kBlockHeader = 5, kTrailer = 4;
}

inline uLong compressBound(uLong size) {
    using namespace zlib;
    return kHeader + size + kBlockHeader * (size / kBlock + 1) + kTrailer;
}

inline int compress2(Bytef* target, uLongf* length, const Bytef* source, uLong size, int) {
    using namespace zlib;
    if (*length < compressBound(size)) return Z_BUF_ERROR;
    Bytef* to = target;
    *to++ = 0x78;  // deflate, 32 KiB window
    *to++ = 0x01;  // no dictionary, fastest; makes the header a multiple of 31
    uint32_t a = 1, b = 0;
    for (uLong done = 0; done == 0 || done < size;) {
        const uLong count = size - done < kBlock ? size - done : kBlock;
        const bool last = done + count == size;
        const Bytef head[kBlockHeader] = {Bytef(last), Bytef(count), Bytef(count >> 8),
                                          Bytef(~count), Bytef(~count >> 8)};
        std::memcpy(to, head, kBlockHeader);
        if (count) std::memcpy(to + kBlockHeader, source + done, count);
        to += kBlockHeader + count;
        for (uLong i = done; i < done + count; ++i) {
            a = (a + source[i]) % 65521;
            b = (b + a) % 65521;
        }
        done += count;
        if (last) break;
    }
    for (int shift = 8; shift >= 0; shift -= 8) *to++ = Bytef(b >> shift);
    for (int shift = 8; shift >= 0; shift -= 8) *to++ = Bytef(a >> shift);
    *length = uLongf(to - target);
    return Z_OK;
}
