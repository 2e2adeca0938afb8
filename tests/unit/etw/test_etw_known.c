#include "etw/enable/etw_known.h"

#include "etw/etw_api.h"
#include "support/test.h"

/* The list that sessions share: when Windows is asked for it, and when not. */

static const struct guid installed = {{1, 2, 3}};
static unsigned asked;
static bool is_denied;

/* One provider, A: PROVIDER_ENUMERATION_INFO on learn.microsoft.com. */
static uint32_t providers(struct etw_provider_list *ret_list, uint32_t *bytes)
{
    const struct etw_provider_list head = {.count = 1};
    const struct etw_provider_info info = {
        .guid = installed, .name_offset = sizeof(head) + sizeof(info)};
    static const uint8_t name[] = {'A', 0, 0, 0};
    uint32_t need = sizeof(head) + sizeof(info) + sizeof(name);
    if (is_denied) {
        return ETW_ERROR_ACCESS_DENIED;
    }
    if (*bytes < need) {
        *bytes = need;
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    uint8_t *to = (uint8_t *)ret_list;
    memcpy(to, &head, sizeof(head));
    memcpy(to + sizeof(head), &info, sizeof(info));
    memcpy(to + sizeof(head) + sizeof(info), name, sizeof(name));
    asked++;
    return ETW_SUCCESS;
}

static int set_up(void **state)
{
    (void)state;
    static const struct etw_api api = {.TdhEnumerateProviders = providers};
    etw_api_use(&api);
    asked = 0;
    is_denied = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    etw_api_use(NULL);
    return 0;
}

static enum etw_known_answer find(const char *name, uint64_t now_ns, struct guid *guid)
{
    struct error err = {0};
    return etw_known_find(span_text(name), now_ns, 100, guid, &err);
}

static void one_list_serves_all_sessions_until_it_is_old(void **state)
{
    (void)state;
    struct guid guid = {{0}};
    etw_known_open();
    etw_known_open();
    assert_int_equal(find("A", 1000, &guid), ETW_KNOWN_LISTED);
    assert_true(guid_equal(&guid, &installed));
    assert_int_equal(find("B", 1100, &guid), ETW_KNOWN_NOWHERE);
    assert_int_equal(find("A", 900, &guid), ETW_KNOWN_LISTED); /* an earlier reading of the clock */
    assert_int_equal(asked, 1);
    assert_int_equal(find("A", 1101, &guid), ETW_KNOWN_LISTED);
    assert_int_equal(asked, 2);
    etw_known_close();
    assert_int_equal(find("A", 1102, &guid), ETW_KNOWN_LISTED);
    assert_int_equal(asked, 2); /* another session has it still */
    etw_known_close();
}

static void the_last_session_takes_the_list_with_it(void **state)
{
    (void)state;
    struct guid guid;
    for (unsigned i = 1; i <= 2; i++) {
        etw_known_open();
        assert_int_equal(find("A", 1000, &guid), ETW_KNOWN_LISTED);
        assert_int_equal(asked, i);
        etw_known_close();
    }
}

static void windows_is_asked_again_after_a_failure(void **state)
{
    (void)state;
    struct guid guid;
    etw_known_open();
    is_denied = true;
    assert_int_equal(find("A", 1000, &guid), ETW_KNOWN_FAILED);
    is_denied = false;
    assert_int_equal(find("A", 1000, &guid), ETW_KNOWN_LISTED);
    etw_known_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            one_list_serves_all_sessions_until_it_is_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_session_takes_the_list_with_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_is_asked_again_after_a_failure, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
