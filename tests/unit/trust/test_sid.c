#include "support/test.h"

#include <stdio.h>

#include "base/sha1.h"
#include "support/sddl.h"
#include "trust/sid.h"

static struct sid sid_of(const char *text)
{
    uint8_t bytes[SDDL_MAX_BYTES] = {0};
    size_t size = sddl_encode_sid(text, bytes, NULL);
    struct reader r = reader_make(span_make(bytes, size));
    struct sid sid = {.authority = 99};
    assert_true(sid_read(&r, &sid));
    assert_int_equal(reader_left(&r), 0);
    return sid;
}

static bool is_trusted(const char *text, const char *own)
{
    struct sid sid = sid_of(text);
    struct sid self = sid_of(own ? own : "WD");
    const struct sid_own both = {.process = own ? &self : NULL};
    return sid_is_trusted(&sid, &both);
}

static void administrators_and_the_system_are_trusted_and_others_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *sid;
        bool trusted;
    } cases[] = {
        {"SY", true},
        {"BA", true},
        {"TI", true},
        {"ES", false},
        {"CO", true},
        {"CG", true},
        {"OW", true},
        {"S-1-3-5", false},
        {"LA", true},
        {"DA", true},
        {"EA", true},
        {"DU", false},
        {"U1", false},
        {"S-1-5-21-9-9-9-512", true},
        {"S-1-5-21-9-9-9-9-512", false},
        {"S-1-5-21-9-9-512", false},
        {"S-1-5-32-512", false},
        {"S-1-5-80-0", false},
        {"S-1-5-80-636056026-1604520351-2996388291-1047079574-1752779692", false},
        {"S-1-5-80-636056026-1604520351-2996388291-1047079574", false},
        {"S-1-5-18-0", false},
        {"S-1-6-18", false},
        {"S-1-5-544", false},
        {"WD", false},
        {"AU", false},
        {"BU", false},
        {"PU", false},
        {"LS", false},
        {"NS", false},
        {"AN", false},
        {"AC", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(is_trusted(cases[i].sid, NULL), cases[i].trusted);
    }
}

static void the_account_of_the_process_is_trusted(void **state)
{
    (void)state;
    assert_true(is_trusted("U1", "U1"));
    assert_false(is_trusted("U2", "U1"));
    assert_true(is_trusted("LS", "LS"));
}

/* But only where its data may be trusted. */
static void the_service_is_trusted_where_that_is_said(void **state)
{
    (void)state;
    const struct sid_own own = {.service = sid_of_service()};
    struct sid service = sid_of("ES");
    assert_true(sid_equal(&service, sid_of_service()));
    assert_false(sid_is_trusted(&service, NULL));
    assert_true(sid_is_trusted(&service, &own));
    assert_true(is_trusted("ES", "ES"));
}

/* NT SERVICE\NAME, made from the name: Windows documents the first one's. */
static void sids_of_services_are_made_of_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *sid;
    } cases[] = {{"TRUSTEDINSTALLER", "TI"}, {"ETWSHIP", "ES"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sha1 sha;
        uint8_t digest[SHA1_SIZE];
        struct sid made = {.authority = 5, .count = 6, .subs = {80}};
        sha1_init(&sha);
        for (const char *c = cases[i].name; *c; c++) {
            const uint8_t unit[2] = {(uint8_t)*c, 0};
            sha1_update(&sha, span_make(unit, sizeof(unit)));
        }
        sha1_final(&sha, digest);
        for (size_t k = 0; k < 5; k++) {
            made.subs[k + 1] = load_le32(digest + k * 4);
        }
        struct sid known = sid_of(cases[i].sid);
        assert_true(sid_equal(&made, &known));
    }
}

static void what_is_no_sid_is_refused_at_every_length(void **state)
{
    (void)state;
    uint8_t bytes[SDDL_MAX_BYTES] = {0};
    size_t size = sddl_encode_sid("TI", bytes, NULL);
    struct sid sid = {.authority = 99};
    for (size_t cut = 0; cut < size; cut++) {
        struct reader r = reader_make(span_make(bytes, cut));
        assert_false(sid_read(&r, &sid));
        assert_true(r.failed);
    }
    bytes[0] = 2;
    struct reader r = reader_make(span_make(bytes, size));
    assert_false(sid_read(&r, &sid));
    bytes[0] = 1;
    bytes[1] = 16;
    r = reader_make(span_make(bytes, sizeof(bytes)));
    assert_false(sid_read(&r, &sid));
    assert_int_equal(sid.authority, 99);
}

static void sids_are_written_with_the_names_that_people_know(void **state)
{
    (void)state;
    static const struct {
        const char *sid;
        const char *text;
    } cases[] = {
        {"WD", "Everyone (S-1-1-0)"},
        {"BU", "BUILTIN\\Users (S-1-5-32-545)"},
        {"AU", "Authenticated Users (S-1-5-11)"},
        {"DU", "Domain Users (S-1-5-21-1-2-3-513)"},
        {"U1", "S-1-5-21-1-2-3-1001"},
        {"S-1-0x123456789abc-4294967295", "S-1-0x123456789abc-4294967295"},
        {"S-1-7", "S-1-7"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 1024);
        struct sid sid = sid_of(cases[i].sid);
        sid_write(&sid, &out);
        buf_add_byte(&out, 0);
        assert_string_equal((const char *)out.data, cases[i].text);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(administrators_and_the_system_are_trusted_and_others_are_not),
        cmocka_unit_test(the_account_of_the_process_is_trusted),
        cmocka_unit_test(the_service_is_trusted_where_that_is_said),
        cmocka_unit_test(sids_of_services_are_made_of_their_names),
        cmocka_unit_test(what_is_no_sid_is_refused_at_every_length),
        cmocka_unit_test(sids_are_written_with_the_names_that_people_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
