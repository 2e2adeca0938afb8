#include "schema/source/schema_source.h"

#include "support/test.h"

/* Losses of definitions, added up and put into words. */

/* 1c95126e-7eea-49a9-a3fe-a378b03ddb4d, by `logman query providers`. */
static const struct guid dns_client = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe,
    0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d}};
static const struct guid unknown = {{0x01, 0x02, 0x03, 0x04}};

static void losses_are_told_with_the_provider_of_the_last(void **state)
{
    (void)state;
    static const struct {
        struct schema_losses losses;
        const char *text;
    } rows[] = {
        {{.evicted = 3, .refused = 2, .conflicts = 1, .provider = {{0x01, 0x02, 0x03, 0x04}}},
            "definitions from events were evicted by others (3), definitions from events did not "
            "fit (2), manifests from processes use a wrong provider name (1); most recently for "
            "provider 04030201-0000-0000-0000-000000000000"},
        {{.refused = 7, .provider = {{0x01, 0x02, 0x03, 0x04}}},
            "definitions from events did not fit (7); most recently for provider "
            "04030201-0000-0000-0000-000000000000"},
        {{.conflicts = 5,
             .provider = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe, 0xa3, 0x78,
                 0xb0, 0x3d, 0xdb, 0x4d}}},
            "manifests from processes use a wrong provider name (5); most recently for provider "
            "Microsoft-Windows-DNS-Client 1c95126e-7eea-49a9-a3fe-a378b03ddb4d"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[SCHEMA_LOSSES_TEXT_BYTES];
        schema_losses_describe(&rows[i].losses, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void losses_add_up_and_the_last_provider_stays(void **state)
{
    (void)state;
    struct schema_losses sum = {.evicted = 1, .provider = unknown};
    const struct schema_losses before = sum;
    const struct schema_losses none = {.provider = dns_client};
    const struct schema_losses more = {
        .evicted = 2, .refused = 3, .conflicts = 4, .provider = dns_client};
    schema_losses_add(&sum, &none);
    assert_true(guid_equal(&sum.provider, &unknown)); /* nothing of it was lost */
    assert_false(schema_losses_differ(&sum, &before));
    schema_losses_add(&sum, &more);
    assert_true(guid_equal(&sum.provider, &dns_client));
    assert_int_equal(sum.evicted, 3);
    assert_int_equal(sum.refused, 3);
    assert_int_equal(sum.conflicts, 4);
    const struct schema_losses each[] = {{.evicted = 2}, {.refused = 1}, {.conflicts = 1}};
    const struct schema_losses zero = {.evicted = 0};
    for (size_t i = 0; i < 3; i++) {
        assert_true(schema_losses_differ(&each[i], &zero));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_told_with_the_provider_of_the_last),
        cmocka_unit_test(losses_add_up_and_the_last_provider_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
