#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/sddl.h"
#include "trust/descriptor.h"

/* Harms, by a letter each. */
static const char letters[] = "wadcxrtio";
static const unsigned bits[] = {TRUST_HARM_WRITE, TRUST_HARM_APPEND, TRUST_HARM_DELETE,
    TRUST_HARM_DELETE_CHILD, TRUST_HARM_ATTRIBUTES, TRUST_HARM_RIGHTS, TRUST_HARM_OWNER,
    TRUST_HARM_INHERIT, TRUST_HARM_OWNS};

/* Judge ${sddl} as ${use}: "" trusted, "?" unknown, "*" every account, else the SID in its form in
 * ${candidates}; then its harms. */
static void judge(const char *sddl, enum trust_use use, const char *own, char out[64])
{
    uint8_t bytes[SDDL_MAX_BYTES];
    uint8_t sid_bytes[SDDL_MAX_BYTES] = {0};
    struct sid self;
    struct trust_verdict verdict = {.party = TRUST_GROUP};
    size_t size = sddl_encode(sddl, bytes);
    assert_true(size > 0);
    if (own) {
        struct reader r = reader_make(span_make(sid_bytes, sddl_encode_sid(own, sid_bytes, NULL)));
        assert_true(sid_read(&r, &self));
    }
    const struct sid_own both = {.process = &self};
    /* Of the exact size, so that a sanitizer sees a read beyond it. */
    uint8_t *exact = malloc(size);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    descriptor_judge(span_make(exact, size), use, own ? &both : NULL, &verdict);
    free(exact);
    static const char *const names[] = {
        "WD", "AU", "BU", "AN", "IU", "U1", "U2", "AC", "PU", "LS", "DU", "ES"};
    const char *party = verdict.party == TRUST_NONE      ? ""
                        : verdict.party == TRUST_UNKNOWN ? "?"
                        : verdict.party == TRUST_ALL     ? "*"
                                                         : "other";
    for (size_t i = 0; verdict.party == TRUST_SID && i < sizeof(names) / sizeof(names[0]); i++) {
        struct sid sid;
        struct reader r = reader_make(
            span_make(sid_bytes, sddl_encode_sid(names[i], sid_bytes, NULL)));
        assert_true(sid_read(&r, &sid));
        party = sid_equal(&sid, &verdict.sid) ? names[i] : party;
    }
    int used = snprintf(out, 32, "%s%s", party, verdict.harms ? " " : "");
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        if (verdict.harms & bits[i]) {
            out[used++] = letters[i];
        }
    }
    out[used] = 0;
}

static void expect(const char *sddl, enum trust_use use, const char *own, const char *expected)
{
    char found[64];
    judge(sddl, use, own, found);
    if (strcmp(found, expected) != 0) {
        print_error("%s as %d: %s, not %s\n", sddl, use, found, expected);
    }
    assert_string_equal(found, expected);
}

/* The descriptors that Windows gives its own places (from Get-Acl). */
#define DRIVE_C                                                                            \
    "O:TIG:TID:PAI(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"    \
    "(A;OICI;0x1200a9;;;BU)(A;;0x1000a1;;;S-1-15-3-65536-1888954469-739942743-1668119174-" \
    "2468466756-4239452838-1296943325-355587736-700089176)"
#define DRIVE_C_SERVER                                                                   \
    "O:TIG:SYD:(A;OICIIO;GA;;;CO)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)" \
    "(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)"
#define DRIVE_D                                                                          \
    "O:SYG:SYD:(A;OICIIO;SDGXGWGR;;;AU)(A;;0x1301bf;;;AU)(A;OICIIO;GA;;;SY)(A;;FA;;;SY)" \
    "(A;OICIIO;GA;;;BA)(A;;FA;;;BA)(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;BU)"
#define PROGRAM_DATA                                                                        \
    "O:SYG:SYD:PAI(A;OICIIO;GA;;;CO)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)" \
    "(A;CI;DCLCRPCR;;;BU)"
#define PROGRAM_FILES                                                                       \
    "O:TIG:TID:PAI(A;OICIIO;GA;;;CO)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;BA)" \
    "(A;;0x1301bf;;;BA)(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;BU)(A;CIIO;GA;;;TI)(A;;FA;;;TI)"  \
    "(A;;0x1200a9;;;AC)(A;OICIIO;GXGR;;;AC)(A;;0x1200a9;;;S-1-15-2-2)"                      \
    "(A;OICIIO;GXGR;;;S-1-15-2-2)"
#define INSTALLED                                                                        \
    "O:BAD:AI(A;ID;FA;;;TI)(A;OICIIOID;GA;;;CO)(A;OICIIOID;GA;;;SY)(A;ID;0x1301bf;;;SY)" \
    "(A;OICIIOID;GA;;;BA)(A;ID;0x1301bf;;;BA)(A;OICIIOID;GXGR;;;BU)(A;ID;0x1200a9;;;BU)"
#define WINDOWS_TEMP "O:SYD:P(A;OICIIO;FA;;;CO)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;CI;0x100026;;;BU)"
#define PROFILE "O:SYG:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;U1)"
#define PROFILE_FOLDER "O:U1G:DUD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;U1)"
#define WINDOWS_FILE \
    "O:TIG:TID:P(A;;FA;;;TI)(A;;GRGX;;;BA)(A;;GRGX;;;SY)(A;;GRGX;;;BU)(A;;GRGX;;;AC)"
#define DATA_FILE "O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1200a9;;;BU)"
#define DRIVE_C_FILE DATA_FILE "(A;ID;0x1301bf;;;AU)"
#define AZURE_SHARE                                                                  \
    "O:SYG:SYD:(A;OICIIO;GA;;;CO)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;;0x1301bf;;;AU)" \
    "(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;0x1200a9;;;BU)"
#define EVERYONE_SHARE "O:BAG:SYD:PAI(A;OICI;FA;;;WD)"
#define OPENSSH "O:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;AU)"
#define OURS "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;ES)"

static void places_of_windows_are_judged_by_what_they_are_used_for(void **state)
{
    (void)state;
    static const struct {
        const char *sddl;
        const char *as[4]; /* for root, way, file, folder; NULL: not in this use */
        const char *own;
    } cases[] = {
        {DRIVE_C, {"", "", NULL, "AU ai"}, NULL},
        {DRIVE_C_SERVER, {"", "", NULL, "BU ai"}, NULL},
        {DRIVE_D, {"", "AU d", NULL, "AU wadxi"}, NULL},
        {PROGRAM_DATA, {"", "", NULL, "BU waxi"}, NULL},
        {PROGRAM_FILES, {"", "", NULL, ""}, NULL},
        {INSTALLED, {"", "", NULL, ""}, NULL},
        {WINDOWS_TEMP, {"", "", NULL, "BU wai"}, NULL},
        {PROFILE, {NULL, "U1 dcrt", NULL, "U1 wadcxrti"}, NULL},
        {PROFILE, {NULL, "", NULL, ""}, "U1"},
        {PROFILE, {NULL, "U1 dcrt", NULL, "U1 wadcxrti"}, "U2"},
        {PROFILE_FOLDER, {NULL, "U1 o", NULL, "U1 o"}, NULL},
        {PROFILE_FOLDER, {NULL, "", NULL, ""}, "U1"},
        {WINDOWS_FILE, {NULL, NULL, "", NULL}, NULL},
        {DATA_FILE, {NULL, NULL, "", NULL}, NULL},
        {DRIVE_C_FILE, {NULL, NULL, "AU wadx", NULL}, NULL},
        {AZURE_SHARE, {"", "AU d", NULL, "AU wadxi"}, NULL},
        {EVERYONE_SHARE, {"WD crt", "WD dcrt", NULL, "WD wadcxrti"}, NULL},
        {OPENSSH, {"", "", NULL, ""}, NULL},
        {OURS, {"", "", "", ""}, "ES"},
        {OURS, {"ES crt", "ES dcrt", "ES wadxrt", "ES wadcxrti"}, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int use = TRUST_ROOT; use <= TRUST_FOLDER; use++) {
            if (cases[i].as[use]) {
                expect(cases[i].sddl, (enum trust_use)use, cases[i].own, cases[i].as[use]);
            }
        }
    }
}

struct one {
    const char *sddl;
    enum trust_use use;
    const char *expected;
};

static void expect_all(const struct one *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect(cases[i].sddl, cases[i].use, NULL, cases[i].expected);
    }
}

static void each_right_does_the_harm_that_it_does(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:BAD:(A;;0x1;;;BU)", TRUST_FILE, ""}, {"O:BAD:(A;;FRFX;;;BU)", TRUST_FILE, ""},
        {"O:BAD:(A;;GRGX;;;WD)", TRUST_FOLDER, ""}, {"O:BAD:(A;;0x2;;;BU)", TRUST_FILE, "BU w"},
        {"O:BAD:(A;;0x4;;;BU)", TRUST_FILE, "BU a"},
        {"O:BAD:(A;;0x10;;;BU)", TRUST_FILE, ""}, /* extended attributes */
        {"O:BAD:(A;;0x40;;;BU)", TRUST_FILE, ""}, {"O:BAD:(A;;0x40;;;BU)", TRUST_FOLDER, "BU c"},
        {"O:BAD:(A;;0x40;;;BU)", TRUST_ROOT, "BU c"}, {"O:BAD:(A;;0x100;;;BU)", TRUST_FILE, "BU x"},
        {"O:BAD:(A;;0x100;;;BU)", TRUST_WAY, ""}, {"O:BAD:(A;;SD;;;BU)", TRUST_FILE, "BU d"},
        {"O:BAD:(A;;SD;;;BU)", TRUST_WAY, "BU d"}, {"O:BAD:(A;;SD;;;BU)", TRUST_ROOT, ""},
        {"O:BAD:(A;;WD;;;BU)", TRUST_ROOT, "BU r"}, {"O:BAD:(A;;WO;;;BU)", TRUST_ROOT, "BU t"},
        {"O:BAD:(A;;GW;;;BU)", TRUST_FILE, "BU wax"}, {"O:BAD:(A;;GW;;;BU)", TRUST_WAY, ""},
        {"O:BAD:(A;;GA;;;BU)", TRUST_FILE, "BU wadxrt"},
        {"O:BAD:(A;;GA;;;BU)", TRUST_WAY, "BU dcrt"},
        {"O:BAD:(A;;0x2000000;;;BU)", TRUST_FILE, "BU wadxrt"},
        {"O:BAD:(A;;0x1000000;;;BU)", TRUST_FILE, ""}, /* changing audit lists needs a privilege */
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void an_owner_has_the_say(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:U1D:(A;;FA;;;BA)", TRUST_FILE, "U1 o"},
        {"O:BUD:", TRUST_WAY, "BU o"},
        {"O:U1D:(A;;FR;;;OW)", TRUST_FILE, "U1 o"}, /* although the list denies it to the owner */
        {"O:BAD:(A;;FA;;;OW)", TRUST_FILE, ""},
        {"O:DAD:(A;;FA;;;SY)", TRUST_FILE, ""},
        {"D:(A;;FA;;;SY)", TRUST_FILE, "?"},
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void no_list_lets_all_accounts_in_and_an_empty_one_none(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:BAD:NO_ACCESS_CONTROL", TRUST_FILE, "* wadxrt"},
        {"O:BA", TRUST_WAY, "* dcrt"},
        {"O:BAD:", TRUST_FILE, ""},
        {"O:BAD:P", TRUST_FOLDER, ""},
        {"O:BAS:(AU;SAFA;FA;;;WD)", TRUST_ROOT, "* crt"},
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void what_is_denied_before_is_not_allowed(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:BAD:(D;;FA;;;BU)(A;;FA;;;BU)", TRUST_FILE, ""},
        {"O:BAD:(D;;GA;;;BU)(A;;FA;;;BU)", TRUST_FILE, ""},
        {"O:BAD:(D;;FW;;;BU)(A;;FA;;;BU)", TRUST_FILE, "BU drt"},
        {"O:BAD:(D;;0x2;;;BU)(D;;0x4;;;BU)(A;;0x6;;;BU)", TRUST_FILE, ""},
        /* The list is not in canonical order: the first matching entry counts. */
        {"O:BAD:(A;;FW;;;BU)(D;;FA;;;BU)", TRUST_FILE, "BU wax"},
        {"O:BAD:(A;;0x2;;;BU)(D;;FA;;;BU)(A;;FA;;;BU)", TRUST_FILE, "BU w"},
        /* A denied account says nothing about the members of another one. */
        {"O:BAD:(D;;FA;;;AU)(A;;FW;;;BU)", TRUST_FILE, "BU wax"},
        {"O:BAD:(D;;FA;;;BU)(A;;FW;;;WD)", TRUST_FILE, "WD wax"},
        {"O:BAD:(D;;FA;;;DU)(A;;FW;;;U1)", TRUST_FILE, "U1 wax"},
        {"O:BAD:(D;;FA;;;BG)(A;;FW;;;AU)", TRUST_FILE, "AU wax"},
        /* Everyone is an exception: it is in all tokens but one. */
        {"O:BAD:(D;;FA;;;WD)(A;;FW;;;BU)(A;;FW;;;U1)", TRUST_FILE, ""},
        {"O:BAD:(D;;FA;;;WD)(A;;FW;;;AN)", TRUST_FILE, "AN wax"},
        {"O:BAD:(D;;FA;;;WD)(A;;FW;;;AN)(D;;FA;;;AN)", TRUST_FILE, "AN wax"},
        /* Only entries that apply here, without conditions or object types. */
        {"O:BAD:(D;OICIIO;FA;;;BU)(A;;FW;;;BU)", TRUST_FILE, "BU wax"},
        {"O:BAD:(XD;;FA;;;BU;(WIN://SYSAPPID Contains \"x\"))(A;;FW;;;BU)", TRUST_FILE, "BU wax"},
        {"O:BAD:(OD;;FA;bf967aba-0de6-11d0-a285-00aa003049e2;;BU)(A;;FW;;;BU)", TRUST_FILE,
            "BU wax"},
        {"O:BAD:(D;;FA;;;BU)", TRUST_FILE, ""},
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void what_is_only_inherited_counts_where_something_will_be_made(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:BAD:(A;OICIIO;FA;;;BU)", TRUST_FILE, ""},
        {"O:BAD:(A;OICIIO;FA;;;BU)", TRUST_WAY, ""},
        {"O:BAD:(A;OICIIO;FA;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(A;OIIO;GW;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(A;CIIO;DC;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(A;OINPIO;FA;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(A;OICIIO;GRGX;;;BU)", TRUST_FOLDER, ""},
        {"O:BAD:(A;OICIIO;GA;;;CO)", TRUST_FOLDER, ""},
        {"O:BAD:(A;IO;FA;;;BU)", TRUST_FOLDER, ""}, /* by no account */
        {"O:BAD:(A;OICI;0x2;;;BU)", TRUST_FOLDER, "BU wi"},
        {"O:BAD:(D;OICI;FA;;;BU)(A;OICI;FA;;;BU)", TRUST_FOLDER, ""},
        {"O:BAD:(D;;FA;;;BU)(A;OICI;FA;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(D;OI;FA;;;BU)(A;OICI;FA;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(D;OICINP;FA;;;BU)(A;OICI;FA;;;BU)", TRUST_FOLDER, "BU i"},
        {"O:BAD:(D;OICIIO;FA;;;BU)(A;OICI;0x2;;;BU)", TRUST_FOLDER, "BU w"},
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void what_depends_or_is_not_known_is_taken_for_the_worst(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:BAD:(XA;;FW;;;BU;(WIN://SYSAPPID Contains \"x\"))", TRUST_FILE, "BU wax"},
        {"O:BAD:(OA;;FW;bf967aba-0de6-11d0-a285-00aa003049e2;;BU)", TRUST_FILE, "BU wax"},
        {"O:BAD:(OA;;FW;;;BU)", TRUST_FILE, "BU wax"},
        {"O:BAD:(OA;;FW;;;BA)", TRUST_FILE, ""},
        {"O:BAD:(??0b;;FW;;;BU)", TRUST_FILE, "?"}, /* this type needs more room */
        {"O:BAD:(??04;;0x0;;;SY)", TRUST_FILE, "?"},
        {"O:BAD:(??16;;0x0;;;SY)", TRUST_FILE, "?"},
        {"O:BAD:(??ff;;0x0;;;SY)", TRUST_FILE, "?"},
        {"O:BAD:(AU;SAFA;FA;;;WD)", TRUST_FILE, ""},
        {"O:BAD:(??11;;0x1;;;WD)", TRUST_FILE, ""},
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void the_first_untrusted_account_is_named_with_all_its_rights(void **state)
{
    (void)state;
    static const struct one cases[] = {
        {"O:BAD:(A;;FR;;;WD)(A;;0x2;;;BU)(A;;FA;;;AU)(A;;SD;;;BU)", TRUST_FILE, "BU wd"},
        {"O:BAD:(A;;0x40;;;BU)(A;OICI;0x2;;;BU)(A;CIIO;FA;;;BU)", TRUST_FOLDER, "BU wci"},
    };
    expect_all(cases, sizeof(cases) / sizeof(cases[0]));
}

static void a_descriptor_that_ends_too_early_is_never_trusted(void **state)
{
    (void)state;
    const struct sid_own own = {.service = sid_of_service()};
    uint8_t bytes[SDDL_MAX_BYTES];
    size_t size = sddl_encode(OURS "(OA;;FR;bf967aba-0de6-11d0-a285-00aa003049e2;;BU)", bytes);
    for (size_t cut = 0; cut < size; cut++) {
        struct trust_verdict verdict;
        uint8_t *exact = malloc(cut + 1);
        assert_non_null(exact);
        memcpy(exact, bytes, cut);
        descriptor_judge(span_make(exact, cut), TRUST_FILE, &own, &verdict);
        assert_int_equal(verdict.party, TRUST_UNKNOWN);
        free(exact);
    }
    struct trust_verdict verdict;
    descriptor_judge(span_make(bytes, size), TRUST_FILE, &own, &verdict);
    assert_int_equal(verdict.party, TRUST_NONE);
}

/* One byte of each is wrong. */
static void a_broken_descriptor_is_unknown(void **state)
{
    (void)state;
    static const char sddl[] = "O:BAD:(A;;FR;;;BU)";
    enum { OWNER = 20, LIST = OWNER + 16, ENTRY = LIST + 8, SID = ENTRY + 8 };
    static const struct {
        size_t at;
        uint8_t value;
    } cases[] = {
        {0, 2},          /* revision */
        {3, 0},          /* not self-relative */
        {4, 0},          /* no owner */
        {4, 255},        /* beyond the end */
        {16, 200},       /* list beyond the end */
        {OWNER, 9},      /* revision of the SID */
        {OWNER + 1, 16}, /* too many parts */
        {LIST, 3},       /* revision of the list */
        {LIST + 2, 7},   /* shorter than its header */
        {LIST + 2, 255}, /* longer than there is */
        {LIST + 4, 2},   /* more entries than there are */
        {ENTRY + 2, 3},  /* an entry shorter than its header */
        {ENTRY + 2, 4},  /* without rights */
        {ENTRY + 2, 23}, /* not a multiple of four */
        {ENTRY + 2, 20}, /* its SID does not fit */
        {ENTRY + 2, 28}, /* longer than the list */
        {SID, 0},        /* revision of its SID */
        {SID + 1, 3},    /* more parts than there are */
    };
    uint8_t good[SDDL_MAX_BYTES];
    size_t size = sddl_encode(sddl, good);
    assert_int_equal(size, ENTRY + 24);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[ENTRY + 24];
        struct trust_verdict verdict;
        memcpy(bytes, good, sizeof(bytes));
        bytes[cases[i].at] = cases[i].value;
        descriptor_judge(span_make(bytes, sizeof(bytes)), TRUST_FILE, NULL, &verdict);
        if (verdict.party != TRUST_UNKNOWN) {
            print_error("byte %zu as %u\n", cases[i].at, cases[i].value);
        }
        assert_int_equal(verdict.party, TRUST_UNKNOWN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_windows_are_judged_by_what_they_are_used_for),
        cmocka_unit_test(each_right_does_the_harm_that_it_does),
        cmocka_unit_test(an_owner_has_the_say),
        cmocka_unit_test(no_list_lets_all_accounts_in_and_an_empty_one_none),
        cmocka_unit_test(what_is_denied_before_is_not_allowed),
        cmocka_unit_test(what_is_only_inherited_counts_where_something_will_be_made),
        cmocka_unit_test(what_depends_or_is_not_known_is_taken_for_the_worst),
        cmocka_unit_test(the_first_untrusted_account_is_named_with_all_its_rights),
        cmocka_unit_test(a_descriptor_that_ends_too_early_is_never_trusted),
        cmocka_unit_test(a_broken_descriptor_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
