// Vector math for machines other than x86-64: aarch64 fuses, as AVX2 does.
#include "runtime/vecmath/lanes_portable.h"
//
#include "runtime/vecmath/kernels.h"

#define WELD_VM_ISA generic
#define WELD_VM_SET kGenericRoutines
#include "runtime/vecmath/export.h"
