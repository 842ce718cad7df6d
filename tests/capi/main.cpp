// The main program of the tests of the C API. They see weld.h and weld.hpp alone, as users do.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
