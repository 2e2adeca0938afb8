/* The access lists that an installation gives to the folders of the service, judged by trust/. */
#include "app/install/install_folders.h"

#include <stdio.h>

#include "support/sddl.h"
#include "support/test.h"
#include "trust/descriptor.h"

/* The danger to LocalSystem, which is not the account of the service, from a folder used as
 * ${use}. */
static unsigned harms_of(const char *name, const char *account, enum trust_use use)
{
    char list[INSTALL_FOLDERS_LIST_BYTES];
    char sddl[INSTALL_FOLDERS_LIST_BYTES + 8];
    uint8_t bytes[SDDL_MAX_BYTES];
    const char *found;
    for (size_t i = 0; install_folders_get(i, account, &found, list, NULL); i++) {
        if (strcmp(found, name) == 0) {
            struct trust_verdict verdict;
            snprintf(sddl, sizeof(sddl), "O:BA%s", list);
            size_t size = sddl_encode(sddl, bytes);
            assert_true(size > 0);
            descriptor_judge(span_make(bytes, size), use, NULL, &verdict);
            assert_int_not_equal(verdict.party, TRUST_UNKNOWN);
            return verdict.harms;
        }
    }
    fail_msg("no folder '%s'", name);
    return 0;
}

static void the_account_of_the_service_writes_its_data_and_cannot_change_what_it_is_told(
    void **state)
{
    (void)state;
    static const char account[] = "S-1-5-80-1-2-3-4-5";
    static const struct {
        const char *name;
        bool is_written;
    } cases[] = {{"", true}, {"config", false}, {"schema", false}, {"spool", true}, {"logs", true}};
    enum {
        TO_REPLACE = TRUST_HARM_DELETE | TRUST_HARM_DELETE_CHILD | TRUST_HARM_RIGHTS |
                     TRUST_HARM_OWNER | TRUST_HARM_OWNS
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned harms = harms_of(cases[i].name, account, TRUST_FOLDER);
        assert_int_equal((harms & TRUST_HARM_WRITE) != 0, cases[i].is_written);
        assert_int_equal((harms & TRUST_HARM_INHERIT) != 0, cases[i].is_written);
        /* No account can rename a folder and put another one in its place. */
        assert_int_equal(harms & TO_REPLACE, 0);
        assert_int_equal(harms_of(cases[i].name, account, TRUST_WAY), 0);
        assert_int_equal(harms_of(cases[i].name, NULL, TRUST_FOLDER), 0);
    }
}

static void an_account_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char account[INSTALL_FOLDERS_LIST_BYTES];
    char list[INSTALL_FOLDERS_LIST_BYTES];
    const char *name;
    struct error err = {.code = ERR_NONE};
    memset(account, 'S', sizeof(account));
    account[sizeof(account) - 1] = '\0';
    assert_false(install_folders_get(0, account, &name, list, &err));
    assert_int_equal(err.code, ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_account_of_the_service_writes_its_data_and_cannot_change_what_it_is_told),
        cmocka_unit_test(an_account_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
