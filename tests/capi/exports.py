#!/usr/bin/env python3
"""Checks what libweld.so exports: exports.py LIBRARY FOLDER_OF_HEADERS

Every function that a header declares, and every name of the headers of Weld 0.2 and 0.4, is there, and all that is
there is such a name: no other library in a process can meet what ours is made of (namespace weld, LLVM, TBB, fmt ...).
"""
import pathlib
import re
import subprocess
import sys

ORIGINAL = '''
    weld_conf_new weld_conf_free weld_conf_get weld_conf_set
    weld_context_new weld_context_memory_usage weld_context_free
    weld_value_new weld_value_data weld_value_context weld_value_run weld_value_memory_usage weld_value_free
    weld_module_compile weld_module_run weld_module_free
    weld_error_new weld_error_code weld_error_message weld_error_free
    weld_load_library weld_set_log_level weld_init
    weld_runst_init weld_runst_release weld_runst_malloc weld_runst_realloc weld_runst_free
    weld_runst_set_result weld_runst_get_result weld_runst_set_errno weld_runst_get_errno
    weld_runst_assert weld_runst_print
'''.split()


def exported(library):
    out = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        yield re.sub(r'^[0-9a-f]+ . ', '', line).split('@@')[0]


def main():
    library, headers = sys.argv[1:]
    names = set(exported(library))
    declared = set(ORIGINAL)
    for header in pathlib.Path(headers).glob('*.h'):
        declared |= set(re.findall(r'^[a-z].*?\b(weld_\w+)\(', header.read_text(), re.MULTILINE))
    missing = sorted(declared - names)
    foreign = sorted(names - declared - {'WELD_0', 'weld_codegen'})  # the version; for weld-cli
    for name in missing:
        print('not exported:', name)
    for name in foreign[:50]:
        print('exported, but in no header:', name)
    print('%d names, %d of them in the headers' % (len(names), len(declared)))
    return bool(missing or foreign)


if __name__ == '__main__':
    sys.exit(main())
