// Vector math for AVX2 with FMA; compiled with these enabled.
#include "runtime/vecmath/lanes_avx2.h"
//
#include "runtime/vecmath/kernels.h"

#define WELD_VM_ISA avx2
#define WELD_VM_SET kAvx2Routines
#include "runtime/vecmath/export.h"
