#include "support/test.h"

#include "trust/mode.h"

static void files_and_folders_are_judged_by_owner_and_bits(void **state)
{
    (void)state;
    enum { ME = 1000, WA = TRUST_HARM_WRITE | TRUST_HARM_APPEND, C = TRUST_HARM_DELETE_CHILD };
    static const struct {
        struct mode_facts facts;
        enum trust_use use;
        enum trust_party party;
        unsigned harms;
    } cases[] = {
        /* of root: /, /etc, /tmp, a key */
        {{0, 0, 0755, true, false}, TRUST_ROOT, TRUST_NONE, 0},
        {{0, 0, 0755, true, false}, TRUST_FOLDER, TRUST_NONE, 0},
        {{0, 0, 01777, true, false}, TRUST_WAY, TRUST_NONE, 0},
        {{0, 0, 01777, true, false}, TRUST_FOLDER, TRUST_ALL, WA},
        {{0, 0, 0777, true, false}, TRUST_WAY, TRUST_ALL, C},
        {{0, 0, 0777, true, false}, TRUST_FOLDER, TRUST_ALL, WA | C},
        {{0, 0, 0644, false, false}, TRUST_FILE, TRUST_NONE, 0},
        {{0, 0, 0666, false, false}, TRUST_FILE, TRUST_ALL, WA},
        {{0, 0, 0602, false, false}, TRUST_FILE, TRUST_ALL, WA},
        {{0, 0, 01666, false, false}, TRUST_FILE, TRUST_ALL, WA}, /* a file is never sticky */
        /* groups, and access lists, which show their mask there: /usr/local, /var/mail */
        {{0, 50, 02775, true, false}, TRUST_WAY, TRUST_GROUP, C},
        {{0, 50, 03775, true, false}, TRUST_WAY, TRUST_NONE, 0},
        {{0, 0, 0664, false, false}, TRUST_FILE, TRUST_GROUP, WA},
        {{0, 0, 0640, false, false}, TRUST_FILE, TRUST_NONE, 0},
        /* of the account itself, and of another one */
        {{ME, ME, 0600, false, false}, TRUST_FILE, TRUST_NONE, 0},
        {{ME, ME, 0666, false, false}, TRUST_FILE, TRUST_ALL, WA},
        {{1001, 0, 0600, false, false}, TRUST_FILE, TRUST_USER, TRUST_HARM_OWNS},
        {{1001, 0, 0700, true, false}, TRUST_WAY, TRUST_USER, TRUST_HARM_OWNS},
        {{1001, 0, 01777, true, false}, TRUST_WAY, TRUST_USER, TRUST_HARM_OWNS},
        /* links */
        {{0, 0, 0777, false, true}, TRUST_FILE, TRUST_NONE, 0},
        {{1001, 0, 0777, false, true}, TRUST_FILE, TRUST_USER, TRUST_HARM_OWNS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trust_verdict verdict = {.party = TRUST_UNKNOWN};
        mode_judge(&cases[i].facts, cases[i].use, ME, &verdict);
        assert_int_equal(verdict.party, cases[i].party);
        assert_int_equal(verdict.harms, cases[i].harms);
        assert_int_equal(verdict.id, verdict.party == TRUST_USER    ? cases[i].facts.owner
                                     : verdict.party == TRUST_GROUP ? cases[i].facts.group
                                                                    : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_folders_are_judged_by_owner_and_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
