// A library that tests load for its functions.
#include <cstdint>

extern "C" void library_square(std::int64_t* x, std::int64_t* result) { *result = *x * *x; }
