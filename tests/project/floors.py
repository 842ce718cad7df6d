#!/usr/bin/env python3
"""Checks that each part of the project includes only what it may see (docs/internals/architecture.md)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder: the project's folders that it may include; libraries (first part of the path) that it may include
FLOORS = {
    "weldir": (["weldir", "runtime/abi/kernels.def", "runtime/abi/builders.def",
                "runtime/abi/scalars.def", "runtime/abi/merge_ops.def"], ["fmt"]),
    "frontend/text": (["weldir/support", "frontend/text"], ["fmt", "re2"]),
    "frontend/weld": (["weldir", "frontend/text", "frontend/weld", "runtime/abi/builders.def"], ["fmt", "re2"]),
    "frontend/daphne": (["weldir", "frontend/text", "frontend/weld", "frontend/daphne"], ["fmt", "re2", "fast_float", "nlohmann"]),
    "runtime": (["runtime", "weldir/support"], ["fmt", "oneapi", "tbb", "hwy", "xsimd", "re2", "fast_float", "nlohmann"]),
    "runtime/parquet": (["runtime/abi", "runtime/parquet"], ["arrow", "parquet"]),
    "codegen": (["weldir", "codegen", "runtime/abi"], ["fmt", "llvm"]),
    "include/weld": (["weld"], []),
}
LLVM_ONLY_IN = "codegen"
LLVM_FREE_HEADERS = ["codegen/engine.h"]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
PROJECT = ("weldir/", "frontend/", "runtime/", "codegen/", "tests/", "weld/")


def complaints(path):
    name = path.relative_to(ROOT).as_posix()
    includes = INCLUDE.findall(path.read_text(encoding="utf-8"))
    floor = max((f for f in FLOORS if name.startswith(f + "/")), key=len, default=None)
    for _, target in includes:
        ours = target.startswith(PROJECT)
        if target.startswith("llvm/") and (not name.startswith(LLVM_ONLY_IN + "/") or name in LLVM_FREE_HEADERS):
            yield f"{name}: includes {target}: LLVM is seen by codegen alone, and not by its engine.h"
        if floor is None:
            continue
        may, libraries = FLOORS[floor]
        if ours and not any((target + "/").startswith(m + "/") for m in may):
            yield f"{name}: includes {target}, but {floor} sees only {', '.join(may)}"
        if not ours and "/" in target and not target.startswith(("sys/", "sanitizer/")):
            if target.split("/")[0] not in libraries:
                yield f"{name}: includes <{target}>, but {floor} uses only {', '.join(libraries) or 'nothing'}"


def main():
    files = [p for top in ("weldir", "frontend", "runtime", "codegen", "include")
             for p in sorted((ROOT / top).rglob("*")) if p.suffix in (".h", ".hpp", ".cpp", ".def")]
    found = [c for p in files for c in complaints(p)]
    print("\n".join(found))
    print(f"{len(files)} files, {len(found)} complaints")
    return bool(found) or not files


if __name__ == "__main__":
    sys.exit(main())
