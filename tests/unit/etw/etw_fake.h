#ifndef ETWSHIP_TESTS_UNIT_ETW_FAKE_H
#define ETWSHIP_TESTS_UNIT_ETW_FAKE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "etw/etw_api.h"
#include "etw/etw_text.h"
#include "support/test.h"

/*
 * A table that records its calls byte for byte, and gives the answers that a test sets.
 *
 * It serves tests of the bytes of a call, or of an unusual order. Behaviour is tested against the
 * simulator.
 */
enum { FAKE_CALLS = 64, FAKE_BLOCK_BYTES = 8192 };

enum fake_function {
    FAKE_START,
    FAKE_CONTROL,
    FAKE_ENABLE,
    FAKE_SET,
    FAKE_QUERY,
    FAKE_PAYLOAD,
};

struct fake_call {
    enum fake_function function;
    uint64_t session;
    uint32_t code; /* control code, or information class */
    char name[ETW_NAME_BYTES];
    uint8_t block[FAKE_BLOCK_BYTES]; /* EVENT_TRACE_PROPERTIES, or the information */
    uint32_t block_bytes;
    struct guid provider;
    uint8_t level;
    uint64_t any;
    uint64_t all;
    uint32_t timeout_ms;
    struct etw_enable_parameters parameters;
    struct etw_filter filters[16];
    uint8_t filter_data[16][FAKE_BLOCK_BYTES];
};

static struct {
    struct etw_api api;
    struct fake_call *calls; /* FAKE_CALLS of them */
    size_t count;
    /* The answer to the call that was recorded last; it may write into ${block}. */
    uint32_t (*answer)(const struct fake_call *call, void *block);
} fake;

static struct fake_call *fake_next(enum fake_function function)
{
    assert_true(fake.count < FAKE_CALLS);
    struct fake_call *call = &fake.calls[fake.count++];
    memset(call, 0, sizeof(*call));
    call->function = function;
    return call;
}

static uint32_t fake_answer(const struct fake_call *call, void *block)
{
    return fake.answer ? fake.answer(call, block) : 0;
}

static void fake_take_block(struct fake_call *call, const struct etw_properties *properties)
{
    call->block_bytes = load_le32((const uint8_t *)properties);
    assert_in_range(call->block_bytes, 120, FAKE_BLOCK_BYTES);
    memcpy(call->block, properties, call->block_bytes);
}

/* The content that a call leaves in its block, whether it succeeds or not. */
static void fake_scribble(struct fake_call *call, struct etw_properties *properties)
{
    memset((uint8_t *)properties + 120, 0xcc, call->block_bytes - 120);
    properties->log_file_mode ^= 0xffffffff;
    properties->flush_timer = 77;
}

static uint32_t fake_start(
    uint64_t *ret_session, const etw_char *name, struct etw_properties *properties)
{
    struct fake_call *call = fake_next(FAKE_START);
    etw_text_decode(name, ETW_MAX_NAME_CHARS, call->name, sizeof(call->name));
    fake_take_block(call, properties);
    uint32_t result = fake_answer(call, properties);
    if (result) {
        fake_scribble(call, properties);
        return result;
    }
    *ret_session = 0x10023;
    return 0;
}

static uint32_t fake_control(
    uint64_t session, const etw_char *name, struct etw_properties *properties, uint32_t code)
{
    struct fake_call *call = fake_next(FAKE_CONTROL);
    call->session = session;
    call->code = code;
    etw_text_decode(name, ETW_MAX_NAME_CHARS, call->name, sizeof(call->name));
    fake_take_block(call, properties);
    uint32_t result = fake_answer(call, properties);
    if (result && result != ETW_ERROR_MORE_DATA) {
        fake_scribble(call, properties);
    }
    return result;
}

static uint32_t fake_enable(uint64_t session, const struct guid *provider, uint32_t code,
    uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    struct etw_enable_parameters *parameters)
{
    struct fake_call *call = fake_next(FAKE_ENABLE);
    call->session = session;
    call->code = code;
    call->provider = *provider;
    call->level = level;
    call->any = any;
    call->all = all;
    call->timeout_ms = timeout_ms;
    if (parameters) {
        call->parameters = *parameters;
        const struct etw_filter *filters = (const void *)(uintptr_t)parameters->filters;
        for (uint32_t i = 0; i < parameters->filter_count && i < 16; i++) {
            call->filters[i] = filters[i];
            assert_in_range(filters[i].size, 1, FAKE_BLOCK_BYTES);
            memcpy(call->filter_data[i], (const void *)(uintptr_t)filters[i].data, filters[i].size);
        }
    }
    return fake_answer(call, NULL);
}

static uint32_t fake_set(uint64_t session, uint32_t info_class, void *data, uint32_t bytes)
{
    struct fake_call *call = fake_next(FAKE_SET);
    call->session = session;
    call->code = info_class;
    call->block_bytes = bytes;
    assert_true(bytes <= FAKE_BLOCK_BYTES);
    memcpy(call->block, data, bytes);
    return fake_answer(call, data);
}

static uint32_t fake_query(
    uint64_t session, uint32_t info_class, void *data, uint32_t bytes, uint32_t *ret_bytes)
{
    struct fake_call *call = fake_next(FAKE_QUERY);
    call->session = session;
    call->code = info_class;
    call->block_bytes = bytes;
    *ret_bytes = bytes;
    return fake_answer(call, data);
}

/* The filter of ${type} in ${call}; NULL: it has none. */
static inline const struct etw_filter *fake_filter(
    const struct fake_call *call, uint32_t type, const uint8_t **ret_data)
{
    for (uint32_t i = 0; i < call->parameters.filter_count; i++) {
        if (call->filters[i].type == type) {
            *ret_data = call->filter_data[i];
            return &call->filters[i];
        }
    }
    return NULL;
}

/* For set-up and tear-down of a test. */
static int fake_set_up(void **state)
{
    (void)state;
    fake.calls = calloc(FAKE_CALLS, sizeof(*fake.calls));
    fake.count = 0;
    fake.answer = NULL;
    fake.api = (struct etw_api){
        .StartTraceW = fake_start,
        .ControlTraceW = fake_control,
        .EnableTraceEx2 = fake_enable,
        .TraceSetInformation = fake_set,
        .TraceQueryInformation = fake_query,
    };
    etw_api_use(&fake.api);
    return fake.calls ? 0 : -1;
}

static int fake_tear_down(void **state)
{
    (void)state;
    etw_api_use(NULL);
    free(fake.calls);
    return 0;
}

#define fake_test(function) cmocka_unit_test_setup_teardown(function, fake_set_up, fake_tear_down)

#endif
