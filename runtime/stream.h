// Writing past the cache.
#pragma once

#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace weld::runtime {

/// Copies whole lines of the cache, 64 bytes, to lines of memory that is not read soon. The next atomic operation of
/// this thread makes them visible to others; a worker ends with one.
inline void stream(char* to, const char* from, std::int64_t bytes) {
#ifdef __SSE2__
    for (; bytes > 0; bytes -= 16, to += 16, from += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    std::memcpy(to, from, std::size_t(bytes));
#endif
}

}  // namespace weld::runtime
