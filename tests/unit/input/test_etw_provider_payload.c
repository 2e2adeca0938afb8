#include "input/windows/etw_provider_payload.h"

#include "etw/etw_api.h"
#include "support/test.h"

/* Payload filters in ETW's form, made again whenever Windows knows more of a provider. */

static const struct guid installed = {{1, 2, 3}};
static const struct guid unknown = {{9}};

/* Two versions of event 7: PROVIDER_EVENT_INFO on learn.microsoft.com. */
static uint32_t events(
    const struct guid *provider, struct etw_provider_events *ret_events, uint32_t *bytes)
{
    const struct etw_provider_events head = {.count = 2};
    const struct event_descriptor versions[] = {{.id = 7}, {.id = 7, .version = 1}};
    uint32_t need = sizeof(head) + sizeof(versions);
    if (!guid_equal(provider, &installed)) {
        return ETW_ERROR_NOT_FOUND;
    }
    if (*bytes < need) {
        *bytes = need;
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    memcpy(ret_events, &head, sizeof(head));
    memcpy((uint8_t *)ret_events + sizeof(head), versions, sizeof(versions));
    return ETW_SUCCESS;
}

static void count(void *self, const char *event_id)
{
    assert_string_equal(event_id, "7");
    ++*(unsigned *)self;
}

static void filters_that_are_made_again_replace_the_old_ones(void **state)
{
    (void)state;
    static const struct etw_api api = {.TdhEnumerateManifestProviderEvents = events};
    static const char *two[] = {"10", "20"};
    static struct provider_predicate predicates[] = {
        {.field = "Size", .between = {two, 2}}, {.field = "Name", .is = "x"}};
    static struct provider_payload wanted[] = {{.id = "7", .fields = {predicates, 2}}};
    const struct provider_spec spec = {.payload = {wanted, 1}};
    struct etw_provider_payload payload;
    unsigned told = 0;
    etw_api_use(&api);
    memset(&payload, 0x55, sizeof(payload));
    etw_provider_payload_init(&payload);
    assert_int_equal(payload.count, 0);
    for (int i = 0; i < 3; i++) {
        etw_provider_payload_make(&payload, &spec, &installed, count, &told);
        assert_int_equal(told, 0);
        assert_int_equal(payload.count, 2); /* one for each version */
        assert_int_equal(payload.filters[1].event.version, 1);
        assert_int_equal(payload.filters[0].count, 2);
        assert_string_equal(payload.filters[0].tests[0].field, "Size");
        assert_int_equal(payload.filters[0].tests[0].op, ETW_PAYLOAD_BETWEEN);
        assert_string_equal(payload.filters[0].tests[1].value, "x");
    }
    etw_provider_payload_make(&payload, &spec, &unknown, count, &told);
    assert_int_equal(payload.count, 0);
    assert_int_equal(told, 1);
    etw_provider_payload_fini(&payload);
    etw_api_use(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_that_are_made_again_replace_the_old_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
