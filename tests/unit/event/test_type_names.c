#include "event/model/type_names.h"

#include "support/test.h"

static void types_have_the_names_of_manifests(void **state)
{
    (void)state;
    assert_string_equal(type_names_in(IN_UNICODE_STRING), "UnicodeString");
    assert_string_equal(type_names_in(IN_HEX_INT64), "HexInt64");
    assert_string_equal(type_names_in(IN_SID), "SID");
    assert_string_equal(type_names_in(IN_WBEM_SID), "WbemSid");
    assert_string_equal(type_names_in(IN_SIZE_T), "SizeT");
    assert_string_equal(type_names_in(IN_WMI_TIME), "WmiTime");
    assert_string_equal(type_names_in(26), "unknown");
    assert_string_equal(type_names_in(299), "unknown");
    assert_string_equal(type_names_in(311), "unknown");
    assert_string_equal(type_names_in(0xffff), "unknown");
    assert_string_equal(type_names_out(OUT_STRING), "string");
    assert_string_equal(type_names_out(OUT_IPV4), "IPv4");
    assert_string_equal(type_names_out(OUT_NTSTATUS), "NTSTATUS");
    assert_string_equal(type_names_out(OUT_DATETIME_UTC), "DateTimeUtc");
    assert_string_equal(type_names_out(OUT_NO_PRINT), "NoPrint");
    assert_string_equal(type_names_out(39), "unknown");
    assert_string_equal(type_names_out(0xffff), "unknown");
}

/* The enumeration TdhInputType of TraceEvent. */
static void types_are_found_by_the_names_of_perfview_too(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint16_t type;
    } spellings[] = {{"CountedUtf16String", 22}, {"CountedMbcsString", 23}, {"CountedString", 300},
        {"WbemSID", 310}, {"FILETIME", 17}};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        uint16_t type = 0;
        assert_true(type_names_find_in(span_text(spellings[i].name), &type));
        assert_int_equal(type, spellings[i].type);
    }
    assert_string_equal(type_names_in(22), "CountedUnicodeString");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_the_names_of_manifests),
        cmocka_unit_test(types_are_found_by_the_names_of_perfview_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
