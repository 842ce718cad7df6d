// Vector math for SSE2, which every x86-64 has.
#include "runtime/vecmath/lanes_portable.h"
//
#include "runtime/vecmath/kernels.h"

#define WELD_VM_ISA sse2
#define WELD_VM_SET kSse2Routines
#include "runtime/vecmath/export.h"
