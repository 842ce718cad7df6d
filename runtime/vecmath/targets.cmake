# Vector math (vecmath.h): one file per instruction set, each compiled for it and for nothing else.
set(VECMATH_DIR ${CMAKE_CURRENT_LIST_DIR})
add_library(vecmath STATIC ${VECMATH_DIR}/table.cpp ${VECMATH_DIR}/slow.cpp)
target_link_libraries(vecmath PUBLIC weld_flags)
# Bits must not depend on the kind of build, and unoptimised lanes are of no use to anyone: always -O2, and operations
# are fused where the source says so only.
target_compile_options(vecmath PRIVATE -O2 -ffp-contract=off -fno-fast-math)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  target_sources(vecmath PRIVATE ${VECMATH_DIR}/sse2.cpp ${VECMATH_DIR}/avx2.cpp ${VECMATH_DIR}/avx512.cpp)
  set_source_files_properties(${VECMATH_DIR}/avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  set(VECMATH_AVX512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd -mfma)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The compiler's own headers make "undefined" vectors from themselves (GCC bug 105593).
    list(APPEND VECMATH_AVX512 -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  set_source_files_properties(${VECMATH_DIR}/avx512.cpp PROPERTIES COMPILE_OPTIONS "${VECMATH_AVX512}")
else()
  target_sources(vecmath PRIVATE ${VECMATH_DIR}/generic.cpp)
endif()

if(WELD_BUILD_BENCH)
  add_executable(bench-vecmath ${PROJECT_SOURCE_DIR}/bench/micro/vecmath.cpp)
  target_link_libraries(bench-vecmath PRIVATE vecmath)
  target_compile_options(bench-vecmath PRIVATE -O2)
endif()
