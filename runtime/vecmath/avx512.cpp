// Vector math for AVX-512 (f, dq, bw, vl, cd); compiled with these enabled.
#include "runtime/vecmath/lanes_avx512.h"
//
#include "runtime/vecmath/kernels.h"

#define WELD_VM_ISA avx512
#define WELD_VM_SET kAvx512Routines
#include "runtime/vecmath/export.h"
