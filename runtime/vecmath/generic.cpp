// Vector math for machines other than x86-64.
#include "runtime/vecmath/lanes_portable.h"
//
#include "runtime/vecmath/kernels.h"

#define WELD_VM_ISA generic
#define WELD_VM_SET kGenericRoutines
#include "runtime/vecmath/export.h"
