#ifndef ETWSHIP_TESTS_SUPPORT_TEST_H
#define ETWSHIP_TESTS_SUPPORT_TEST_H

/* cmocka wants these before it, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/span.h"

/* In a program of many tests each has a name of its own (tests/unit/run.c). */
#ifdef ETWSHIP_TEST_MAIN
int ETWSHIP_TEST_MAIN(void);
#define main ETWSHIP_TEST_MAIN
#endif

/* Assert that a span holds exactly ${text}. */
#define assert_span(s, text) assert_span_at((s), (text), __FILE__, __LINE__)

static inline void assert_span_at(struct span s, const char *text, const char *file, int line)
{
    if (!span_is(s, text)) {
        print_error("got \"%.*s\", expected \"%s\"\n", SPAN_ARG(s), text);
        _fail(file, line);
    }
}

#endif
