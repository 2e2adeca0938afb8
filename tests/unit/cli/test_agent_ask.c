#include "cli/text/agent_ask.h"

#include "platform/plat_system.h"
#include "support/test.h"

/* The client lies between bytes that must not change. */
struct fenced {
    uint8_t before[16];
    struct status_client client;
    uint8_t after[16];
};

static bool ask(struct app_status status, struct status_client *ret_client)
{
    static const uint8_t zeros[16] = {0};
    const struct app_config config = {.status = status};
    struct fenced fenced = {.before = {0}};
    bool asked = agent_ask_init(&config, 1000, &fenced.client);
    assert_memory_equal(fenced.before, zeros, sizeof(zeros));
    assert_memory_equal(fenced.after, zeros, sizeof(zeros));
    *ret_client = fenced.client;
    return asked;
}

static void a_local_place_is_asked_first_and_has_no_address(void **state)
{
    (void)state;
    struct status_client client;
    const char *place = plat_has_etw() ? "\\\\.\\pipe\\etwship" : "/run/etwship/status";
    assert_true(ask((struct app_status){.listen = "127.0.0.1:9187",
                        .unix_path = plat_has_etw() ? NULL : place,
                        .pipe = plat_has_etw() ? place : NULL,
                        .token = "12345678"},
        &client));
    assert_string_equal(client.local_name, place);
    assert_string_equal(client.token, "12345678");
    assert_int_equal(client.address.size, 0);
}

static void an_agent_that_listens_everywhere_is_asked_over_loopback(void **state)
{
    (void)state;
    static const uint8_t loopback_4[4] = {127, 0, 0, 1};
    static const uint8_t loopback_6[16] = {[15] = 1};
    static const uint8_t other[4] = {192, 0, 2, 7};
    struct status_client client;
    assert_true(ask((struct app_status){.listen = "0.0.0.0:9187"}, &client));
    assert_int_equal(client.port, 9187);
    assert_int_equal(client.address.size, sizeof(loopback_4));
    assert_memory_equal(client.address.bytes, loopback_4, sizeof(loopback_4));
    assert_true(ask((struct app_status){.listen = "[::]:9187"}, &client));
    assert_int_equal(client.address.size, sizeof(loopback_6));
    assert_memory_equal(client.address.bytes, loopback_6, sizeof(loopback_6));
    assert_true(ask((struct app_status){.listen = "192.0.2.7:80"}, &client));
    assert_memory_equal(client.address.bytes, other, sizeof(other));
}

static void without_a_place_nothing_is_asked(void **state)
{
    (void)state;
    struct status_client client;
    assert_false(ask((struct app_status){.token = "12345678"}, &client));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_place_is_asked_first_and_has_no_address),
        cmocka_unit_test(an_agent_that_listens_everywhere_is_asked_over_loopback),
        cmocka_unit_test(without_a_place_nothing_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
