/* Stands before the allocator and the calls for files of the C library. */
#define _GNU_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- what fails */

static const char* const names[NUM_FAULTS] = {"memory", "read", "write", "open", "name"};
static int armed = -1; /* an `enum fault`, or NUM_FAULTS to count all */
static int fails_on, error_to_set;
static long fail_at;
static long calls[NUM_FAULTS];
static long bytes;

static int fails(enum fault what) {
    if (armed != (int)what && armed != NUM_FAULTS) return 0;
    const long number = __atomic_add_fetch(&calls[what], 1, __ATOMIC_RELAXED);
    if (armed != (int)what || !fail_at || (fails_on ? number < fail_at : number != fail_at)) return 0;
    errno = error_to_set;
    return 1;
}

void fault_arm(enum fault what, long at, int on, int error) {
    calls[what] = 0;
    fail_at = at;
    fails_on = on;
    error_to_set = what == FAULT_MEMORY ? ENOMEM : error;
    __atomic_store_n(&armed, (int)what, __ATOMIC_SEQ_CST);
}

long fault_disarm(void) {
    static int last = -1;
    const int what = __atomic_exchange_n(&armed, -1, __ATOMIC_SEQ_CST);
    if (what >= 0) last = what;
    return last < 0 ? 0 : calls[last];
}

long fault_bytes_in_use(void) { return __atomic_load_n(&bytes, __ATOMIC_RELAXED); }

/* ---- memory; the sanitizers have an allocator of their own, which stays */

#ifndef FAULTS_SANITIZED

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static void* counted(void* block) {
    if (block) __atomic_add_fetch(&bytes, (long)malloc_usable_size(block), __ATOMIC_RELAXED);
    return block;
}
static void uncounted(void* block) {
    if (block) __atomic_sub_fetch(&bytes, (long)malloc_usable_size(block), __ATOMIC_RELAXED);
}

void* malloc(size_t size) { return fails(FAULT_MEMORY) ? NULL : counted(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) { return fails(FAULT_MEMORY) ? NULL : counted(__libc_calloc(n, size)); }
void* realloc(void* block, size_t size) {
    if (fails(FAULT_MEMORY)) return NULL;
    const long before = block ? (long)malloc_usable_size(block) : 0;
    void* moved = __libc_realloc(block, size);
    if (moved || !size) __atomic_sub_fetch(&bytes, before, __ATOMIC_RELAXED);
    return counted(moved);
}
void free(void* block) {
    uncounted(block);
    __libc_free(block);
}
void* memalign(size_t align, size_t size) {
    return fails(FAULT_MEMORY) ? NULL : counted(__libc_memalign(align, size));
}
void* aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void** block, size_t align, size_t size) {
    void* made = memalign(align, size);
    if (made) *block = made;
    return made ? 0 : ENOMEM;
}

#endif

void* mmap(void* at, size_t size, int prot, int flags, int fd, off_t offset) {
    if (fails(FAULT_MEMORY)) return MAP_FAILED;
    return (void*)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

int mprotect(void* at, size_t size, int prot) {
    return fails(FAULT_MEMORY) ? -1 : (int)syscall(SYS_mprotect, at, size, prot);
}

void* mremap(void* old, size_t size, size_t to, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* at = flags & MREMAP_FIXED ? va_arg(more, void*) : NULL;
    va_end(more);
    if (fails(FAULT_MEMORY)) return MAP_FAILED;
    return (void*)syscall(SYS_mremap, old, size, to, flags, at);
}

/* ---- files */

/* Whether the call fails; makes it shorter if it is only to do less. */
static int spoils(enum fault what, size_t* size) {
    if (!fails(what)) return 0;
    if (error_to_set) return 1;
    if (*size > 1) *size = 1;
    return 0;
}

ssize_t read(int fd, void* to, size_t size) {
    return spoils(FAULT_READ, &size) ? -1 : syscall(SYS_read, fd, to, size);
}
ssize_t pread(int fd, void* to, size_t size, off_t at) {
    return spoils(FAULT_READ, &size) ? -1 : syscall(SYS_pread64, fd, to, size, at);
}
ssize_t write(int fd, const void* from, size_t size) {
    if (fd == STDERR_FILENO) return syscall(SYS_write, fd, from, size); /* what is wrong is told there */
    return spoils(FAULT_WRITE, &size) ? -1 : syscall(SYS_write, fd, from, size);
}
ssize_t writev(int fd, const struct iovec* from, int n) {
    size_t all = SIZE_MAX;
    return spoils(FAULT_WRITE, &all) ? -1 : syscall(SYS_writev, fd, from, all == 1 ? 1 : n);
}
int fsync(int fd) { return fails(FAULT_WRITE) && error_to_set ? -1 : (int)syscall(SYS_fsync, fd); }
int close(int fd) {
    const int failed = fd > STDERR_FILENO && fails(FAULT_WRITE) && error_to_set;
    const int error = errno;
    const int closed = (int)syscall(SYS_close, fd);
    if (!failed) return closed;
    errno = error;
    return -1;
}

static int open_at(int folder, const char* path, int flags, va_list more) {
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    if (fails(FAULT_OPEN) && error_to_set) return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}
int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int fd = open_at(AT_FDCWD, path, flags, more);
    va_end(more);
    return fd;
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat(int folder, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int fd = open_at(folder, path, flags, more);
    va_end(more);
    return fd;
}
int mkostemp(char* path, int flags) {
    static int (*real)(char*, int);
    if (!real) *(void**)&real = dlsym(RTLD_NEXT, "mkostemp");
    return fails(FAULT_OPEN) && error_to_set ? -1 : real(path, flags);
}

int rename(const char* from, const char* to) {
    return fails(FAULT_NAME) && error_to_set ? -1 : (int)syscall(SYS_rename, from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    return fails(FAULT_NAME) && error_to_set
               ? -1
               : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
int fchmod(int fd, mode_t mode) {
    return fails(FAULT_NAME) && error_to_set ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}
int ftruncate(int fd, off_t size) {
    return fails(FAULT_WRITE) && error_to_set ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

/* ---- programs that know nothing of this: from `main` on */

static int (*main_of_program)(int, char**, char**);

static void write_calls(void) {
    const char* path = getenv("FAULT_CALLS");
    armed = -1;
    FILE* file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (int i = 0; i < NUM_FAULTS; ++i) fprintf(file, "%s %ld\n", names[i], calls[i]);
    fclose(file);
}

static int arm_and_run(int argc, char** argv, char** environment) {
    const char* fault = getenv("FAULT");
    char name[16] = "", on[8] = "";
    long at = 0;
    int error = 0;
    if (getenv("FAULT_CALLS")) {
        atexit(write_calls);
        armed = NUM_FAULTS;
    } else if (fault && sscanf(fault, "%15[a-z],%ld,%7[a-z],%d", name, &at, on, &error) >= 2) {
        for (int i = 0; i < NUM_FAULTS; ++i)
            if (!strcmp(name, names[i])) fault_arm((enum fault)i, at, !strcmp(on, "on"), error);
    }
    return main_of_program(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                      int (*init)(int, char**, char**), void (*fini)(void), void (*rtld_fini)(void),
                      void* stack_end) {
    __typeof__(&__libc_start_main) real;
    *(void**)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    main_of_program = main;
    return real(arm_and_run, argc, argv, init, fini, rtld_fini, stack_end);
}
