#ifndef ETWSHIP_TESTS_UNIT_ETW_ETW_ENABLE_RIG_H
#define ETWSHIP_TESTS_UNIT_ETW_ETW_ENABLE_RIG_H

#include "etw/enable/etw_enable.h"
#include "etw_fake.h"

/* A request to a table that the test provides. Offsets and limits are those of evntprov.h, written
 * as numbers. */

static const struct guid provider = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe,
    0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d}};
static const struct guid source = {{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6}};

/* Requests are large, so all tests share one, which each begins anew. */
static struct etw_request request;
static struct etw_outcome outcome;

static inline int set_up(void **state)
{
    memset(&request, 0, sizeof(request));
    memset(&outcome, 0xee, sizeof(outcome));
    request.provider = provider;
    return fake_set_up(state);
}

#define enable_test(function) cmocka_unit_test_setup_teardown(function, set_up, fake_tear_down)

static inline bool enable(struct error *err)
{
    return etw_enable_provider(0x1234500023, "DNS", &request, &outcome, err);
}

/* The only filter of the last call. */
static inline const uint8_t *only_filter(uint32_t type, uint32_t size)
{
    const struct fake_call *call = &fake.calls[fake.count - 1];
    assert_int_equal(call->parameters.filter_count, 1);
    assert_int_equal(call->filters[0].type, type);
    assert_int_equal(call->filters[0].size, size);
    return call->filter_data[0];
}

/* A text of ${size} letters. */
static inline const char *letters(size_t size)
{
    static char texts[4][5000];
    static size_t next;
    char *text = texts[next++ % 4];
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

static inline void expect_limit(const char *text)
{
    struct error err;
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_LIMIT);
    if (!strstr(err.text, text)) {
        fail_msg("'%s' does not say '%s'", err.text, text);
    }
    assert_int_equal(fake.count, 0);
}

#endif
