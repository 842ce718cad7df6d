/* reopen LIBRARY: a program that opens libweld.so, runs a parallel loop and closes the library, again and
 * again. The threads of the loops live on, so its code has to stay. Knows the library by its path alone. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static void* library;

static void* function(const char* name) {
    void* address = dlsym(library, name);
    if (!address) fprintf(stderr, "%s\n", dlerror());
    return address;
}

/* sum of i*i for i below n */
static int64_t sum_of_squares(int64_t n) {
    void* (*conf_new)(void) = function("weld_conf_new");
    void (*conf_set)(void*, const char*, const char*) = function("weld_conf_set");
    void* (*conf_free)(void*) = function("weld_conf_free");
    void* (*compile)(const char*, void*, void*) = function("weld_module_compile");
    void* (*context_new)(void*) = function("weld_context_new");
    void* (*value_new)(const void*) = function("weld_value_new");
    void* (*value_data)(void*) = function("weld_value_data");
    void* (*run)(void*, void*, void*, void*) = function("weld_module_run");
    void (*value_free)(void*) = function("weld_value_free");
    void (*module_free)(void*) = function("weld_module_free");
    void (*context_free)(void*) = function("weld_context_free");
    void* conf = conf_new();
    conf_set(conf, "weld.threads", "4");
    void* module = compile(
        "|n: i64| result(for(rangeiter(0L, n, 1L), merger[i64,+], |b, i, x| merge(b, x * x)))", NULL, NULL);
    void *context = context_new(conf), *input = value_new(&n), *output = run(module, context, input, NULL);
    int64_t sum = output ? *(int64_t*)value_data(output) : -1;
    value_free(output);
    value_free(input);
    context_free(context);
    module_free(module);
    conf_free(conf);
    return sum;
}

int main(int argc, char** argv) {
    for (int i = 0; argc > 1 && i < 10; ++i) {
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
        int64_t sum = sum_of_squares(3000000);
        if (sum != 8999995500000500000) return fprintf(stderr, "the sum is %lld\n", (long long)sum), 1;
        dlclose(library);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* threads go to sleep now */
    }
    return 0;
}
