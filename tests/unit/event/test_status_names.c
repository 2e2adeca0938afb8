#include "event/value/status_names.h"

#include "support/test.h"

/* ntstatus.h, winerror.h. */
static void known_status_codes_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *(*find)(uint32_t code);
        uint32_t code;
        const char *name;
    } cases[] = {
        {status_names_ntstatus, 0, "STATUS_SUCCESS"},
        {status_names_ntstatus, 0x103, "STATUS_PENDING"},
        {status_names_ntstatus, 0xc0000005, "STATUS_ACCESS_VIOLATION"},
        {status_names_ntstatus, 0xc0000022, "STATUS_ACCESS_DENIED"},
        {status_names_ntstatus, 0xc0000034, "STATUS_OBJECT_NAME_NOT_FOUND"},
        {status_names_win32, 0, "ERROR_SUCCESS"},
        {status_names_win32, 2, "ERROR_FILE_NOT_FOUND"},
        {status_names_win32, 5, "ERROR_ACCESS_DENIED"},
        {status_names_hresult, 0, "S_OK"},
        {status_names_hresult, 0x80004005, "E_FAIL"},
        {status_names_hresult, 0x80070005, "E_ACCESSDENIED"},
        {status_names_hresult, 0x80070002, "ERROR_FILE_NOT_FOUND"},
        {status_names_ntstatus, 0xfffffffe, NULL},
        {status_names_win32, 0xffffffff, NULL},
        {status_names_hresult, 0x80079999, NULL},
        {status_names_hresult, 0x00070005, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = cases[i].find(cases[i].code);
        if (cases[i].name) {
            assert_non_null(name);
            assert_string_equal(name, cases[i].name);
        } else {
            assert_null(name);
        }
    }
}

/* Binary search finds only sorted rows, so every code in between has to be tried. */
static void the_tables_of_status_codes_are_in_order(void **state)
{
    (void)state;
    unsigned win32 = 0;
    unsigned ntstatus = 0;
    for (uint32_t code = 0; code < 0x4000; code++) {
        win32 += status_names_win32(code) != NULL;
        ntstatus += status_names_ntstatus(0xc0000000 | code) != NULL;
    }
    assert_true(win32 > 30);
    assert_true(ntstatus > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_status_codes_have_names),
        cmocka_unit_test(the_tables_of_status_codes_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
