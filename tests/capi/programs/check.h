/* For the programs here, which are written as users write theirs: stop with a message if something is not so.
 */
#ifndef CHECK_H_
#define CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: this is not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

/* After a call that took the error `e`. */
#define CHECK_GOOD(e)                                       \
    do {                                                    \
        if (weld_error_code(e)) {                           \
            fprintf(stderr, "%s\n", weld_error_message(e)); \
            exit(1);                                        \
        }                                                   \
    } while (0)

#endif
