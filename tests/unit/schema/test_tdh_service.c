#include "schema/windows/tdh_service.h"

#include <stdatomic.h>

#include "etw/etw_api.h"
#include "support/await.h"
#include "support/etl_mix_schema.h"
#include "support/etw_sim/sim_tdh.h"
#include "support/test.h"
#include "unit/schema/tdh_fake.h"

/* A TDH that hangs, answers late, or gives wrong sizes. The test makes its answers from the
 * TRACE_EVENT_INFO of a sample event. */
static struct buf info;
static unsigned warned;

static void count_warning(void *self, const char *text)
{
    (void)self;
    assert_true(strlen(text) > 0);
    warned++;
}

static uint32_t give(
    struct etw_event_record *record, struct span bytes, void *ret_info, uint32_t *info_bytes)
{
    (void)record;
    uint32_t room = *info_bytes;
    *info_bytes = (uint32_t)bytes.size;
    if (room < bytes.size) {
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    memcpy(ret_info, bytes.data, bytes.size);
    return 0;
}

static uint32_t sound_info(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    (void)context_count;
    (void)context;
    return give(record, buf_span(&info), ret_info, info_bytes);
}

/* The gate of tdh_fake.h in front of the correct answer. */
static uint32_t gated_info(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    uint32_t code = sound_info(record, context_count, context, ret_info, info_bytes);
    uint32_t nothing = 0;
    tdh_fake_info(record, context_count, context, ret_info, &nothing);
    return code;
}

static int make_info(void **state)
{
    (void)state;
    buf_init(&info, 1 << 16);
    etl_mix_schema_event_info(&info, &etl_mix_schema_process, &etl_mix_schema_process.types[0]);
    tdh_fake_use();
    tdh_fake.api = (struct etw_api){.TdhGetEventInformation = sound_info};
    warned = 0;
    return info.failed ? -1 : 0;
}

static int drop_info(void **state)
{
    (void)state;
    etw_api_use(NULL);
    buf_fini(&info);
    return 0;
}

static struct tdh_service *create(unsigned wait_ms, unsigned miss_ms)
{
    struct tdh_service *service = tdh_service_create(
        &(struct tdh_service_settings){
            .wait_ms = wait_ms, .miss_ms = miss_ms, .warn = count_warning},
        NULL);
    assert_non_null(service);
    return service;
}

static struct event_record event_of(uint16_t id)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .pointer_size = 8,
        .provider = etl_mix_schema_process.guid,
        .descriptor = {.id = id}};
}

static const struct event_schema *find(struct tdh_service *service, uint16_t id, bool *ret_late)
{
    struct event_record record = event_of(id);
    return tdh_service_find(service, &record, ret_late);
}

static void an_answer_is_remembered(void **state)
{
    (void)state;
    struct tdh_service *service = create(60000, 0);
    bool late = true;
    const struct event_schema *schema = find(service, 1, &late);
    assert_non_null(schema);
    assert_false(late);
    assert_string_equal(schema->source, "tdh");
    assert_ptr_equal(find(service, 1, &late), schema);
    assert_ptr_not_equal(find(service, 2, &late), schema);
    assert_int_equal(tdh_service_news(service), 0);
    tdh_service_destroy(service);
}

static void no_call_waits_for_long_and_late_answers_are_news(void **state)
{
    (void)state;
    tdh_fake.api.TdhGetEventInformation = gated_info;
    tdh_fake_close(true);
    struct tdh_service *service = create(20, 0);
    bool late = false;
    for (uint16_t id = 1; id <= 100; id++) {
        assert_null(find(service, id, &late));
        assert_true(late);
    }
    assert_int_equal(warned, 1);
    assert_int_equal(tdh_service_news(service), 0);
    tdh_fake_close(false);
    AWAIT(tdh_service_news(service) >= 100);
    for (uint16_t id = 1; id <= 100; id++) {
        assert_non_null(find(service, id, &late));
        assert_false(late);
    }
    tdh_service_destroy(service);
}

static void a_call_that_never_returns_does_not_keep_the_agent_from_ending(void **state)
{
    (void)state;
    tdh_fake.api.TdhGetEventInformation = gated_info;
    tdh_fake_close(true);
    struct tdh_service *service = create(1, 0);
    bool late = false;
    assert_null(find(service, 1, &late));
    assert_null(find(service, 2, &late));
    tdh_fake_await_call();
    tdh_service_destroy(service);
    tdh_fake_close(false); /* it frees what it left */
    plat_mutex_lock(&tdh_fake.mutex);
    while (tdh_fake.inside) {
        plat_cond_wait(&tdh_fake.changed, &tdh_fake.mutex);
    }
    plat_mutex_unlock(&tdh_fake.mutex);
}

static atomic_uint refusals;

static uint32_t refuse(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    (void)record;
    (void)context_count;
    (void)context;
    (void)ret_info;
    *info_bytes = 0;
    static const uint32_t codes[] = {ETW_ERROR_NOT_FOUND, ETW_ERROR_NOT_SUPPORTED,
        ETW_ERROR_CALL_NOT_IMPLEMENTED, ETW_ERROR_ACCESS_DENIED};
    return codes[atomic_fetch_add(&refusals, 1) % 4];
}

static void a_refusal_is_remembered_for_a_while(void **state)
{
    (void)state;
    tdh_fake.api.TdhGetEventInformation = refuse;
    atomic_store(&refusals, 0);
    struct tdh_service *service = create(60000, 60000);
    bool late = true;
    for (size_t round = 0; round < 10; round++) {
        for (uint16_t id = 1; id <= 4; id++) {
            assert_null(find(service, id, &late));
            assert_false(late);
        }
    }
    assert_int_equal(atomic_load(&refusals), 4);
    tdh_service_destroy(service);
}

static atomic_bool installed;

static uint32_t installed_later(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    return (atomic_load(&installed) ? sound_info : refuse)(
        record, context_count, context, ret_info, info_bytes);
}

static void what_was_not_there_may_come_later(void **state)
{
    (void)state;
    tdh_fake.api.TdhGetEventInformation = installed_later;
    atomic_store(&installed, false);
    struct tdh_service *service = create(60000, 1);
    bool late;
    assert_null(find(service, 1, &late));
    atomic_store(&installed, true);
    AWAIT(find(service, 1, &late));
    tdh_service_destroy(service);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static atomic_uint size_calls;
static uint32_t said_bytes;
static uint32_t said_code;

static uint32_t lie(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    (void)record;
    (void)context_count;
    (void)context;
    memset(ret_info, 0x41, *info_bytes);
    unsigned call = atomic_fetch_add(&size_calls, 1);
    *info_bytes = said_bytes ? said_bytes : *info_bytes + 1 + call;
    return said_code;
}

static void sizes_that_make_no_sense_are_a_miss(void **state)
{
    (void)state;
    static const struct {
        uint32_t code;
        uint32_t bytes; /* 0: each time more than before */
    } cases[] = {{ETW_ERROR_INSUFFICIENT_BUFFER, UINT32_MAX}, {ETW_ERROR_INSUFFICIENT_BUFFER, 1},
        {ETW_ERROR_INSUFFICIENT_BUFFER, 0}, {0, UINT32_MAX}, {0, 1}, {0, 4096}};
    tdh_fake.api.TdhGetEventInformation = lie;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        said_code = cases[i].code;
        said_bytes = cases[i].bytes;
        atomic_store(&size_calls, 0);
        struct tdh_service *service = create(60000, 0);
        bool late = true;
        assert_null(find(service, 1, &late));
        assert_false(late);
        assert_in_range(atomic_load(&size_calls), 1, 8);
        tdh_service_destroy(service);
    }
}

static struct span damaged;

static uint32_t give_damaged(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    (void)context_count;
    (void)context;
    return give(record, damaged, ret_info, info_bytes);
}

static void cut_and_damaged_answers_do_no_harm(void **state)
{
    (void)state;
    tdh_fake.api.TdhGetEventInformation = give_damaged;
    struct tdh_service *service = create(60000, 0);
    uint16_t id = 0;
    bool late;
    for (size_t size = 0; size < info.size; size++) {
        damaged = span_make(info.data, size);
        find(service, id++, &late);
        assert_false(late);
    }
    damaged = buf_span(&info);
    for (size_t at = 0; at < info.size; at++) {
        uint8_t kept = info.data[at];
        info.data[at] = 0xff;
        find(service, id++, &late);
        info.data[at] = kept;
    }
    assert_non_null(find(service, id, &late));
    tdh_service_destroy(service);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct looker {
    struct tdh_service *service;
    const struct event_schema *found[50];
};

static void look(void *self)
{
    struct looker *looker = self;
    bool late;
    for (uint16_t id = 0; id < 50; id++) {
        looker->found[id] = find(looker->service, id, &late);
    }
}

static void any_number_of_threads_find_the_same(void **state)
{
    (void)state;
    struct looker lookers[4];
    struct plat_thread *threads[4];
    struct tdh_service *service = create(60000, 0);
    for (size_t i = 0; i < 4; i++) {
        lookers[i].service = service;
        threads[i] = plat_thread_start("look", look, &lookers[i], NULL);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        plat_thread_join(threads[i]);
    }
    for (size_t id = 0; id < 50; id++) {
        assert_non_null(lookers[0].found[id]);
        for (size_t i = 1; i < 4; i++) {
            assert_ptr_equal(lookers[i].found[id], lookers[0].found[id]);
        }
    }
    tdh_service_destroy(service);
    tdh_service_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_remembered, make_info, drop_info),
        cmocka_unit_test_setup_teardown(
            no_call_waits_for_long_and_late_answers_are_news, make_info, drop_info),
        cmocka_unit_test_setup_teardown(a_refusal_is_remembered_for_a_while, make_info, drop_info),
        cmocka_unit_test_setup_teardown(what_was_not_there_may_come_later, make_info, drop_info),
        cmocka_unit_test_setup_teardown(sizes_that_make_no_sense_are_a_miss, make_info, drop_info),
        cmocka_unit_test_setup_teardown(cut_and_damaged_answers_do_no_harm, make_info, drop_info),
        cmocka_unit_test_setup_teardown(any_number_of_threads_find_the_same, make_info, drop_info),
        /* the last test, because threads that it leaves may still use the table */
        cmocka_unit_test_setup_teardown(
            a_call_that_never_returns_does_not_keep_the_agent_from_ending, make_info, drop_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
