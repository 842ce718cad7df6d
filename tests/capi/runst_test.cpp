// The functions of Weld 0.4's runtime.
#include "api.h"

#include <cstring>

TEST_CASE("a run counts its memory and keeps a result and an error number") {
    weld_init();
    void* run = weld_runst_init(4, 1000);
    REQUIRE(run);
    CHECK(weld_runst_get_errno(run) == WELD_SUCCESS);
    CHECK(weld_runst_get_result(run) == nullptr);
    CHECK(weld_runst_malloc(run, 0) == nullptr);
    char* a = static_cast<char*>(weld_runst_malloc(run, 600));
    REQUIRE(a);
    std::memset(a, 7, 600);
    CHECK(weld_runst_malloc(run, 600) == nullptr);
    CHECK(weld_runst_get_errno(run) == WELD_OUT_OF_MEMORY);
    weld_runst_set_errno(run, WELD_SUCCESS);
    a = static_cast<char*>(weld_runst_realloc(run, a, 900));
    REQUIRE(a);
    CHECK(a[599] == 7);
    CHECK(weld_runst_realloc(run, a, 1100) == nullptr);
    CHECK(a[599] == 7);
    weld_runst_set_result(run, a);
    CHECK(weld_runst_get_result(run) == a);
    weld_runst_free(run, a);
    weld_runst_free(run, &a);  // none of its blocks
    CHECK(weld_runst_malloc(run, 1000) != nullptr);
    CHECK(weld_runst_malloc(run, -1) == nullptr);
    CHECK(weld_runst_malloc(run, INT64_MAX) == nullptr);
    weld_runst_set_errno(run, WELD_SUCCESS);
    CHECK(weld_runst_assert(run, 1) == 1);
    CHECK(weld_runst_get_errno(run) == WELD_SUCCESS);
    CHECK(weld_runst_assert(run, 0) == 0);
    CHECK(weld_runst_get_errno(run) == WELD_ASSERTION_ERROR);
    weld_runst_print(run, "printed by weld_runst_print");
    weld_runst_release(run);
    CHECK(weld_runst_get_errno(run) == WELD_RUN_NOT_FOUND);
    CHECK(weld_runst_malloc(run, 1) == nullptr);
    weld_runst_release(run);
    weld_runst_release(nullptr);
}
