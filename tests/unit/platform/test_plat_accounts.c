#include "support/test.h"

#include <string.h>

#include "platform/plat_accounts.h"

/* S-1-5-18 and a SID of no existing domain, as [MS-DTYP] 2.4.2.2 lays them out. */
static const uint8_t local_system[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
static const uint8_t nobody[] = {
    1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x39, 0x30, 0, 0};

static void the_null_sid_has_no_name(void **state)
{
    (void)state;
    struct plat_account account;
    assert_int_equal(
        plat_account_find(span_make(nobody, sizeof(nobody)), &account), PLAT_ACCOUNT_NONE);
    assert_string_equal(account.name, "");
}

static void bytes_that_are_no_sid_have_no_name(void **state)
{
    (void)state;
    struct plat_account account;
    uint8_t bytes[sizeof(nobody)];
    for (size_t size = 0; size < sizeof(nobody); size++) {
        assert_int_equal(plat_account_find(span_make(nobody, size), &account), PLAT_ACCOUNT_NONE);
    }
    memcpy(bytes, nobody, sizeof(bytes));
    bytes[1] = 255; /* more numbers than the limit of a SID */
    assert_int_equal(
        plat_account_find(span_make(bytes, sizeof(bytes)), &account), PLAT_ACCOUNT_NONE);
}

static void the_system_has_its_name_on_windows(void **state)
{
    (void)state;
    struct plat_account account;
    enum plat_account_answer answer = plat_account_find(
        span_make(local_system, sizeof(local_system)), &account);
#ifdef _WIN32
    /* In the language of the machine, which is English under Wine. */
    assert_int_equal(answer, PLAT_ACCOUNT_KNOWN);
    assert_string_equal(account.name, "SYSTEM");
    assert_string_equal(account.domain, "NT AUTHORITY");
#else
    assert_int_equal(answer, PLAT_ACCOUNT_NONE);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_null_sid_has_no_name),
        cmocka_unit_test(bytes_that_are_no_sid_have_no_name),
        cmocka_unit_test(the_system_has_its_name_on_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
