#include "filter/filter.h"

#include "unit/event/writer_fixture.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const struct schema_map_entry bit_entries[] = {
    {1, {(const uint8_t *)"READ", 4}}, {6, {(const uint8_t *)"WRITE", 5}}};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = bit_entries, .entry_count = 2};
static const struct schema_map_entry value_entries[] = {{28, {(const uint8_t *)"AAAA", 4}}};
static const struct schema_map value_map = {
    .kind = MAP_VALUE, .entries = value_entries, .entry_count = 1};

static const struct piece pieces[] = {
    {"Image", IN_ANSI_STRING, OUT_UTF8, "'C:' 5c 'Windows' 5c 'System32' 5c 'cmd.exe'", NULL},
    {"Empty", IN_UNICODE_STRING, 0, "", NULL},
    {"City", IN_ANSI_STRING, OUT_UTF8, "'M' c3bc 'nchen'", NULL},
    {"Quote", IN_ANSI_STRING, OUT_UTF8, "'it' 27 's'", NULL},
    {"Num", IN_UINT32, 0, "0a000000", NULL},
    {"Neg", IN_INT64, 0, "fbffffffffffffff", NULL},
    {"Max", IN_UINT64, 0, "ffffffffffffffff", NULL},
    {"Real", IN_FLOAT, 0, "cdcccc3d", NULL},
    {"Nan", IN_DOUBLE, 0, "000000000000f87f", NULL},
    {"Ptr", IN_POINTER, 0, "00b01a0000000000", NULL},
    {"Yes", IN_BOOLEAN, 0, "01000000", NULL},
    {"Bits", IN_UINT32, 0, "05000000", &bit_map},
    {"Type", IN_UINT32, 0, "1c000000", &value_map},
    {"Guid", IN_GUID, 0, "6e12951c ea7e a949 a3fea378b03ddb4d", NULL},
    {"Time", IN_FILETIME, 0, "8747 ba0a ef7a dd01", NULL},
    {"V4", IN_UINT32, OUT_IPV4, "0a010203", NULL},
    {"V6", IN_BINARY, OUT_IPV6, "20010db8000000000000000000000001", NULL},
    {"Mapped", IN_BINARY, OUT_IPV6, "00000000000000000000ffff0a010203", NULL},
    {"AddrText", IN_ANSI_STRING, 0, "'192.0.2.7'", NULL},
    {"Sock", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb c0000207 0000000000000000", NULL},
    {"Sid", IN_SID, 0, "0101000000000005 12000000", NULL},
    {"Raw", IN_BINARY, 0, "00ff10", NULL},
    {"Odd name", IN_UINT8, 0, "07", NULL},
    {"List", IN_UINT16, 0, "0100 0200 0300", NULL},
    {"None", IN_UINT16, 0, "", NULL},
};

static const struct schema_keyword keywords[] = {
    {0x10, {(const uint8_t *)"Net", 3}}, {0x20, {(const uint8_t *)"Disk", 4}}};

static void make_event(struct writer_fixture *f)
{
    fixture_init(f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(f, pieces, COUNT_OF(pieces));
    for (size_t i = COUNT_OF(pieces) - 2; i < COUNT_OF(pieces); i++) {
        f->fields[i].shape = FIELD_PACKED;
        f->fields[i].value_bytes = 2;
        f->fields[i].count = f->fields[i].size / 2;
    }
    f->schema.provider_name = span_text("Microsoft-Windows-DNS-Client");
    f->schema.keywords = keywords;
    f->schema.keyword_count = 2;
    f->schema.message = span_text("ran %1 for %5");
    f->record.present = RECORD_HAS_PROCESS;
    f->record.process_id = 4;
    f->record.descriptor = (struct event_descriptor){
        .id = 3008, .level = 4, .opcode = 1, .keyword = UINT64_C(0x8000000000000010)};
    f->trace.session_name = span_text("kernel");
}

static bool run_at(struct writer_fixture *f, const char *text, const char *file, int line)
{
    struct filter_rule rules[] = {{.action = FILTER_ACTION_KEEP, .text = span_text(text)},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")}};
    struct filter_place place;
    struct error err;
    struct filter *filter = filter_create(rules, 2, &place, &err);
    if (!filter) {
        print_error("%s: %s\n", text, err.text);
        _fail(file, line);
    }
    struct filter_scratch scratch;
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    size_t rule = SIZE_MAX;
    enum filter_verdict verdict = filter_event(filter, &scratch, &f->event, &rule);
    assert_int_equal(rule, verdict == FILTER_KEEP ? 0 : 1);
    /* An earlier decision stays. */
    size_t early_rule = SIZE_MAX;
    enum filter_verdict early = filter_header(filter, &scratch, &f->record, &early_rule);
    if (early != FILTER_UNDECIDED && (early != verdict || early_rule != rule)) {
        print_error("%s: the header says otherwise\n", text);
        _fail(file, line);
    }
    const struct event_schema *schemas[] = {f->event.schema};
    early = filter_candidates(filter, &scratch, &f->event, schemas, 1, &early_rule);
    if (early != FILTER_UNDECIDED && (early != verdict || early_rule != rule)) {
        print_error("%s: the schema says otherwise\n", text);
        _fail(file, line);
    }
    filter_scratch_fini(&scratch);
    filter_destroy(filter);
    return verdict == FILTER_KEEP;
}

static void assert_tests_at(struct writer_fixture *f, const char *const *texts, size_t count,
    bool expected, const char *file, int line)
{
    for (size_t i = 0; i < count; i++) {
        if (run_at(f, texts[i], file, line) != expected) {
            print_error("%s\n", texts[i]);
            _fail(file, line);
        }
    }
}

/* Both tables against the one event. */
#define ASSERT_TRUE_AND_FALSE(yes, no)                                        \
    do {                                                                      \
        struct writer_fixture f_;                                             \
        make_event(&f_);                                                      \
        assert_tests_at(&f_, (yes), COUNT_OF(yes), true, __FILE__, __LINE__); \
        assert_tests_at(&f_, (no), COUNT_OF(no), false, __FILE__, __LINE__);  \
        fixture_fini(&f_);                                                    \
    } while (0)

static void numbers_compare_by_value_whatever_their_type(void **state)
{
    (void)state;
    static const char *const yes[] = {"data.Num == 10", "data.Num == 0x0A", "data.Num == 10.0",
        "data.Num == 1e1", "data.Num != 11", "data.Num < 10.5", "data.Num <= 10", "data.Num >= 10",
        "data.Num > -1", "data.Neg == -5", "data.Neg < 0", "data.Neg > -5.5", "data.Neg <= -5",
        "data.Max == 18446744073709551615", "data.Max == 0xffffffffffffffff",
        "data.Max < 18446744073709551616.0", "data.Max > 18446744073709549568.0",
        "data.Real == 0.1", "data.Real < 1", "data.Real > 0", "process.pid == 4",
        "event.code == 3008", "event.id == 3008", "data.Type == 28", "data['Odd name'] == 7",
        "data.Neg > -9223372036854775808", "data.Sock.port == 443"};
    static const char *const no[] = {"data.Num == 11", "data.Num != 10", "data.Num < 10",
        "data.Num > 10", "data.Neg == 5", "data.Neg > -5", "data.Real == 0.10000000149011612",
        "data.Num == 'a'", "data.Num == '10'", "data.Image == 10", "data.Nan == 0", "data.Nan < 1",
        "data.Yes == 1", "data.Missing == 0", "data.Missing != 0",
        "data.Max == 18446744073709551616.0"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void hex_shown_fields_are_numbers_that_have_a_text(void **state)
{
    (void)state;
    static const char *const yes[] = {"data.Ptr == 0x1ab000", "data.Ptr == 1748992",
        "data.Ptr == '0x1AB000'", "data.Ptr == '0x01ab000'", "data.Ptr > 1",
        "data.Ptr in (1, 0x1ab000)", "data.Ptr in (0-0x1fffff)", "data.Ptr startswith '0x1a'",
        "event.keywords == 0x8000000000000010", "event.keywords == '0x8000000000000010'",
        "data.Ptr has 0x1000", "data.Ptr > '0x1'"};
    static const char *const no[] = {"data.Ptr == 'x'", "data.Ptr has 0x1", "data.Ptr < 5",
        "data.Ptr == '0x1ab001'", "data.Ptr == '0x01ab000'c"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void text_compares_without_case_unless_told(void **state)
{
    (void)state;
    static const char *const yes[] = {"data.Image == 'c:\\WINDOWS\\system32\\CMD.EXE'",
        "data.Image == 'C:\\Windows\\System32\\cmd.exe'c", "data.Image != 'x'",
        "data.City == 'M\xc3\x9cNCHEN'", "data.City contains '\xc3\x9c'", "data.Quote == 'it''s'",
        "data.Quote == \"it's\"", "data.Empty == ''", "data.Empty startswith ''",
        "data.Image > 'C:'", "data.Image < 'd'", "data.Image >= 'c'", "data.City <= 'n'",
        "provider.name == 'microsoft-windows-dns-client'", "etw.session == 'KERNEL'",
        "data.Sid == 's-1-5-18'", "data.Raw == '00FF10'", "data.Bits_name has 'read'"};
    static const char *const no[] = {"data.Image == 'c:\\windows\\system32\\cmd.exe'c",
        "data.City == 'M\xc3\x9cNCHEN'c", "data.City contains '\xc3\x9c'c", "data.Empty != ''",
        "data.Image == 'C:\\Windows'", "data.Image < 'C:'", "etw.session == 'KERNEL'c",
        "data.Bits_name has 'read'c"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void lists_of_values_match_any(void **state)
{
    (void)state;
    static const char *const yes[] = {"data.Num in (1, 5-12)", "data.Num in (10)",
        "data.Num in ('x', 10)", "data.Image in ('x', 'c:\\windows\\system32\\cmd.exe')",
        "data.Neg in (-10 - -1)", "data.Neg in (-5)", "data.Real in (0-0.5)",
        "event.level in (error, information)", "event.level in (critical, 3-4)",
        "data.Yes in (false, true)", "event.opcode in (1, 2)"};
    static const char *const no[] = {"data.Num in (1, 2, 11-20)", "data.Num in ('10')",
        "data.Image in ('cmd.exe')", "event.level in (error, verbose)", "data.Missing in (0-10)",
        "data.Nan in (0-10)"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

/* Long lists are searched, not scanned; text that has no case is still found. */
static void long_lists_hold_values_of_every_kind(void **state)
{
    (void)state;
#define MANY "'zz', 'Y', 'x', 'x', 'w', 'v', 'u', 'B', 'a', '', 'MUNCHEN', 'c:\\x', 5-6, 'Q'c, "
    static const char *const yes[] = {"data.City in (" MANY "'M\xc3\x9cNCHEN')",
        "data.City in ('M\xc3\x9cNCHEN', " MANY "7)", "data.Empty in (" MANY "7)",
        "data.Num in (" MANY "10)", "data.Quote in (" MANY "'it''s'c)",
        "data.Raw in (" MANY "'00FF10')", "data.Ptr in (" MANY "'0x1ab000')",
        "data.Guid in (" MANY "'{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}')",
        "data.V6 in (" MANY "'2001:db8:0::1')", "data.Yes in (" MANY "true)",
        "data.Time in (" MANY "'2026-11-21T09:30:00Z') or true"};
    static const char *const no[] = {"data.City in (" MANY "'M\xc3\x9cNCHEN'c)",
        "data.Quote in (" MANY "'its')", "data.Missing in (" MANY "7)", "data.Nan in (" MANY "7)",
        "data.Num in (" MANY "'10')"};
    ASSERT_TRUE_AND_FALSE(yes, no);
#undef MANY
}

static void parts_of_text_are_found(void **state)
{
    (void)state;
    static const char *const yes[] = {"data.Image contains 'SYSTEM32'",
        "data.Image contains ('x', 'system32')", "data.Image contains ''",
        "data.Image startswith 'c:\\'", "data.Image startswith ('x', 'C:\\WIN')",
        "data.Image endswith '\\CMD.exe'", "data.Image endswith ('.com', '.exe')",
        "data.Image like '*.EXE'", "data.Image like ('*.com', 'c:\\*\\cmd.e?e')",
        "data.Image like 'c:*s*32*e'", "data.City like 'm?nchen'", "data.Empty like '*'",
        "data.Empty like ''", "data.Image matches '\\\\CMD\\.exe$'",
        "data.Image matches ('^x', '^c:\\\\win')", "data.City matches '^m\xc3\x9cn'",
        "data.City matches '^M.nchen$'c", "data.Guid startswith '1C95'",
        "data.Time startswith '2026-11'", "message contains 'cmd.exe for 10'",
        "data.V4 startswith '10.1.'", "data.Raw endswith '10'", "message startswith 'ran C:'c"};
    static const char *const no[] = {"data.Image contains 'system33'",
        "data.Image contains 'SYSTEM32'c", "data.Image startswith 'windows'",
        "data.Image endswith 'cmd'", "data.Image like '*.ex'", "data.Image like 'c:'",
        "data.Image like '*.EXE'c", "data.City like 'm??nchen'", "data.Image matches '^cmd'",
        "data.Image matches 'CMD'c", "data.Num contains '1'", "data.Missing like '*'",
        "data.Num matches '.'", "data.Empty like '?'", "data.List contains '1'"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void addresses_lie_in_networks(void **state)
{
    (void)state;
    static const char *const yes[] = {"cidr(data.V4, '10.0.0.0/8')", "cidr(data.V4, '10.1.2.3')",
        "cidr(data.V4, '192.0.2.0/24', '10.1.0.0/16')", "cidr(data.V6, '2001:DB8::/32')",
        "cidr(data.AddrText, '192.0.2.0/29')", "cidr(data.Sock.address, '192.0.2.7/32')",
        "cidr(data.Sock, '192.0.2.0/24')", "cidr(data.V4, '0.0.0.0/0')", "cidr(data.V6, '::/0')",
        "cidr(data.Mapped, '10.0.0.0/8')", "cidr(data.Mapped, '::ffff:0:0/96')",
        "data.V6 == '2001:0DB8:0:0::1'", "data.V4 in ('10.1.2.3')"};
    static const char *const no[] = {"cidr(data.V4, '10.0.0.0/16')", "cidr(data.V4, '::/0')",
        "cidr(data.V6, '0.0.0.0/0')", "cidr(data.Image, '0.0.0.0/0')",
        "cidr(data.Num, '0.0.0.0/0')", "cidr(data.V6, '2001:db9::/32')",
        "cidr(data.Missing, '0.0.0.0/0')", "cidr(data.Sock, '192.0.3.0/24')",
        "data.V6 == '2001:0DB8:0:0::1'c"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void times_and_guids_compare_as_what_they_are(void **state)
{
    (void)state;
    static const char *const yes[] = {"@timestamp == '2026-11-21T09:30:00.1234567Z'",
        "@timestamp == '2026-11-21T10:30:00.1234567+01:00'", "@timestamp > '2026-11-21T09:30:00Z'",
        "@timestamp >= '2026-11-21'", "@timestamp < '2027'", "data.Time < '2030-01-01T00:00:00Z'",
        "@timestamp startswith '2026-11-21T09'",
        "provider.guid == '{1C95126E-7EEA-49A9-A3FE-A378B03DDB4D}'",
        "data.Guid in ('1c95126e-7eea-49a9-a3fe-a378b03ddb4d')",
        "data.Guid == '1c95126e-7eea-49a9-a3fe-a378b03ddb4d'c"};
    static const char *const no[] = {"@timestamp < '2026-11-21T09:30:00Z'",
        "@timestamp != '2026-11-21T09:30:00.1234567Z'",
        "data.Guid == '1C95126e-7eea-49a9-a3fe-a378b03ddb4d'c",
        "provider.guid == '00000000-7eea-49a9-a3fe-a378b03ddb4d'"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void has_asks_for_names_bits_and_elements(void **state)
{
    (void)state;
    static const char *const yes[] = {"data.Bits has 'read'", "data.Bits has 0x1",
        "data.Bits has 5", "data.Bits has (2, 4)", "data.Bits has ('x', 'READ'c)",
        "event.keywords has 'net'", "event.keywords has 0x10",
        "event.keywords has 0x8000000000000010", "event.keywords_name has 'Net'",
        "event.keywords_name[*] == 'net'", "event.keywords_name startswith 'n'", "data.List has 2",
        "data.List == 2", "data.List[*] > 2", "data.List != 2", "data.Type has 'aaaa'",
        "data.Type_name == 'aaaa'", "data.Neg has 0x8000000000000000", "data.Bits has '0x4'",
        "data.Bits_name has 4"};
    static const char *const no[] = {"data.Bits has 'WRITE'", "data.Bits has 3",
        "data.Bits has 'read'c", "event.keywords has 'disk'", "event.keywords has 0x11",
        "data.List has 4", "data.List > 3", "data.None has 1", "data.None != 1",
        "data.Missing has 1", "data.Missing has 'x'", "data.Image has 'c'", "data.Num has 'x'",
        "data.Real has 1"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

static void logic_binds_not_before_and_before_or(void **state)
{
    (void)state;
    static const char *const yes[] = {"true", "not not true", "true or not true and not true",
        "(true)", "not (not true)", "data.Num == 1 or data.Num == 10",
        "data.Num == 1 and true or data.Num == 10", "not data.Missing == 1",
        "not exists(data.Missing)", "exists(data.Nan)", "exists(data)", "exists(data.None)",
        "exists(data.Sock)", "exists(process)", "TRUE AND NOT (data.Num IN (1))",
        "data.Num == 10\n  and data.Neg == -5", "not (data.Num == 1 or data.Missing == 1)",
        "not data.Num == 1 and data.Num == 10", "exists(data.Bits_name)", "exists(event.keywords)",
        "data.Yes == true", "data.Yes != false", "exists(message)", "exists(host) or true"};
    static const char *const no[] = {"not true", "not (true or true)", "true and not true",
        "(data.Num == 1 or data.Num == 10) and data.Num == 1", "exists(data.Missing)",
        "exists(data.Num_name)", "exists(process.thread)", "exists(gap)", "data.Yes == false",
        "not exists(data.Image)", "exists(labels)", "exists(tags)", "exists(labels.site)"};
    ASSERT_TRUE_AND_FALSE(yes, no);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    enum filter_verdict header;
    enum filter_verdict schema;
} stages[] = {
    {"event.code == 3008", FILTER_KEEP, FILTER_KEEP},
    {"event.code == 1", FILTER_DROP, FILTER_DROP},
    {"event.code == 1 and data.Num == 10", FILTER_DROP, FILTER_DROP},
    {"data.Num == 10 and event.code == 1", FILTER_DROP, FILTER_DROP},
    {"data.Num == 10 or event.code == 3008", FILTER_KEEP, FILTER_KEEP},
    {"event.code == 3008 and data.Num == 10", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"not (data.Num == 10 and event.code == 1)", FILTER_KEEP, FILTER_KEEP},
    {"not (data.Num == 10 or event.code == 1)", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"not (data.Num == 10 or event.code == 3008)", FILTER_DROP, FILTER_DROP},
    {"provider.name == 'x'", FILTER_UNDECIDED, FILTER_DROP},
    {"provider.name == 'x' or event.code == 3008", FILTER_KEEP, FILTER_KEEP},
    {"provider.name startswith 'micro' and event.code == 3008", FILTER_UNDECIDED, FILTER_KEEP},
    {"provider.name == 'x' and data.Num == 10", FILTER_UNDECIDED, FILTER_DROP},
    {"event.keywords has 'net'", FILTER_UNDECIDED, FILTER_KEEP},
    {"exists(message)", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"exists(data)", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"data.Missing == 1", FILTER_UNDECIDED, FILTER_DROP},
    {"data.Missing.X[*] has 'x' or data.Missing_name == 'x'", FILTER_UNDECIDED, FILTER_DROP},
    {"not exists(data.Missing)", FILTER_UNDECIDED, FILTER_KEEP},
    {"not data.Missing == 1 and event.code == 3008", FILTER_UNDECIDED, FILTER_KEEP},
    {"data.Missing == 1 or data.Num == 10", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"data.Bits_name has 'READ'", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"exists(payload_rest)", FILTER_UNDECIDED, FILTER_UNDECIDED},
    {"true", FILTER_KEEP, FILTER_KEEP},
};

static void the_header_decides_what_no_payload_can_change(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct filter_scratch scratch;
    make_event(&f);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        struct filter_rule rules[] = {
            {.action = FILTER_ACTION_KEEP, .text = span_text(stages[i].text)},
            {.action = FILTER_ACTION_DROP, .text = span_text("true")}};
        struct filter_place place;
        struct filter *filter = filter_create(rules, 2, &place, NULL);
        assert_non_null(filter);
        const struct event_schema *schemas[] = {&f.schema, &f.schema};
        size_t rule;
        if (filter_header(filter, &scratch, &f.record, &rule) != stages[i].header ||
            filter_candidates(filter, &scratch, &f.event, schemas, 2, &rule) != stages[i].schema) {
            fail_msg("%s", stages[i].text);
        }
        filter_destroy(filter);
    }
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

static void a_schema_without_layout_or_none_has_no_data(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct filter_scratch scratch;
    make_event(&f);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct event_schema names_only = f.schema;
    names_only.has_layout = false;
    const struct event_schema *schemas[] = {&names_only, NULL};
    struct filter_rule rule_text = {.action = FILTER_ACTION_DROP,
        .text = span_text(
            "exists(data) or data.Num == 10 or exists(message) or exists(decode_error)")};
    struct filter_place place;
    struct filter *filter = filter_create(&rule_text, 1, &place, NULL);
    assert_non_null(filter);
    size_t rule = 7;
    assert_int_equal(filter_candidates(filter, &scratch, &f.event, schemas, 2, &rule), FILTER_KEEP);
    assert_int_equal(rule, 1);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

/* If one definition leaves the decision to the sequence number, another one must not change
 * that. */
static void candidates_depend_on_the_place_of_an_event_if_one_does(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct filter_scratch scratch;
    make_event(&f);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct event_schema other = f.schema;
    other.provider_name = span_text("Other");
    const struct event_schema *both[] = {&f.schema, &other};
    struct filter_rule rule_text = {.action = FILTER_ACTION_DROP,
        .text = span_text("provider.name == 'other' or etw.sequence < 100")};
    struct filter_place place;
    struct filter *filter = filter_create(&rule_text, 1, &place, NULL);
    assert_non_null(filter);
    size_t rule;
    assert_int_equal(filter_candidates(filter, &scratch, &f.event, both, 2, &rule), FILTER_DROP);
    assert_true(scratch.placed);
    assert_int_equal(
        filter_candidates(filter, &scratch, &f.event, both + 1, 1, &rule), FILTER_DROP);
    assert_false(scratch.placed);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

static void candidates_decide_only_together(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct filter_scratch scratch;
    make_event(&f);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct event_schema other = f.schema;
    other.provider_name = span_text("Other");
    const struct event_schema *schemas[] = {&f.schema, &other, NULL};
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = span_text("provider.name == 'other'")},
        {.action = FILTER_ACTION_DROP, .text = span_text("provider.name startswith 'Micro'")},
        {.action = FILTER_ACTION_KEEP, .text = span_text("not exists(provider.name)")}};
    struct filter_place place;
    struct filter *filter = filter_create(rules, 3, &place, NULL);
    assert_non_null(filter);
    size_t rule = 7;
    assert_int_equal(
        filter_candidates(filter, &scratch, &f.event, schemas, 2, &rule), FILTER_UNDECIDED);
    assert_int_equal(rule, 7);
    assert_int_equal(
        filter_candidates(filter, &scratch, &f.event, schemas + 1, 1, &rule), FILTER_DROP);
    assert_int_equal(rule, 0);
    assert_int_equal(
        filter_candidates(filter, &scratch, &f.event, schemas + 2, 1, &rule), FILTER_KEEP);
    assert_int_equal(rule, 2);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

static void the_first_rule_that_matches_decides_and_keep_is_the_default(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct filter_scratch scratch;
    make_event(&f);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = span_text("data.Num == 1")},
        {.action = FILTER_ACTION_KEEP, .text = span_text("data.Num == 10")},
        {.action = FILTER_ACTION_DROP, .text = span_text("true"), .name = span_text("rest")}};
    struct filter_place place;
    size_t rule;
    struct filter *filter = filter_create(rules, 3, &place, NULL);
    assert_non_null(filter);
    assert_int_equal(filter_rule_count(filter), 3);
    assert_span(filter_rule_name(filter, 0), "data.Num == 1");
    assert_span(filter_rule_name(filter, 2), "rest");
    assert_int_equal(filter_need(filter), EVENT_PATH_EVENT);
    assert_int_equal(filter_event(filter, &scratch, &f.event, &rule), FILTER_KEEP);
    assert_int_equal(rule, 1);
    filter_destroy(filter);
    filter = filter_create(rules, 1, &place, NULL);
    assert_int_equal(filter_event(filter, &scratch, &f.event, &rule), FILTER_KEEP);
    assert_int_equal(rule, 1);
    filter_destroy(filter);
    filter = filter_create(NULL, 0, &place, NULL);
    assert_int_equal(filter_header(filter, &scratch, &f.record, &rule), FILTER_KEEP);
    assert_int_equal(rule, 0);
    assert_int_equal(filter_need(filter), EVENT_PATH_RECORD);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

static void rules_that_edit_decide_nothing_and_wait_for_nothing(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct filter_scratch scratch;
    make_event(&f);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_TAG, .text = span_text("data.Num == 10")},
        {.action = FILTER_ACTION_REMOVE, .text = span_text("true")},
        {.action = FILTER_ACTION_DROP, .text = span_text("event.version < 255")},
        {.action = FILTER_ACTION_TRUNCATE, .text = span_text("true")}};
    struct filter_place place;
    size_t rule = 7;
    for (size_t i = 0; i < 4; i++) {
        static const char *const fields[] = {"message"};
        rules[i].fields = fields;
        rules[i].field_count = 1;
    }
    struct filter *filter = filter_create(rules, 4, &place, NULL);
    assert_non_null(filter);
    assert_int_equal(filter_header(filter, &scratch, &f.record, &rule), FILTER_DROP);
    assert_int_equal(rule, 2);
    assert_int_equal(filter_event(filter, &scratch, &f.event, &rule), FILTER_DROP);
    assert_int_equal(rule, 2);
    filter_destroy(filter);
    filter = filter_create(rules, 2, &place, NULL);
    assert_int_equal(filter_header(filter, &scratch, &f.record, &rule), FILTER_KEEP);
    assert_int_equal(rule, 2);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

static void a_search_that_takes_too_long_is_given_up_and_counted(void **state)
{
    (void)state;
    static const struct piece text[] = {{"T", IN_ANSI_STRING, 0,
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'", NULL}};
    struct writer_fixture f;
    struct filter_scratch scratch;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, text, 1);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct filter_rule rule_text = {
        .action = FILTER_ACTION_DROP, .text = span_text("data.T matches '(a+)+$'")};
    struct filter_place place;
    size_t rule;
    struct filter *filter = filter_create(&rule_text, 1, &place, NULL);
    assert_non_null(filter);
    assert_int_equal(filter_event(filter, &scratch, &f.event, &rule), FILTER_KEEP);
    assert_int_equal(scratch.given_up, 1);
    filter_destroy(filter);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
}

static void an_event_without_layout_has_no_data(void **state)
{
    (void)state;
    struct writer_fixture f;
    make_event(&f);
    f.event.status = DECODE_RAW;
    f.event.field_count = 0;
    assert_true(run_at(&f, "not exists(data) and exists(payload)", __FILE__, __LINE__));
    assert_true(run_at(&f, "not exists(message)", __FILE__, __LINE__));
    assert_false(run_at(&f, "data.Num == 10", __FILE__, __LINE__));
    assert_true(run_at(&f, "payload startswith '433A'", __FILE__, __LINE__));
    f.event.schema = NULL;
    assert_false(run_at(&f, "exists(provider.name)", __FILE__, __LINE__));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_compare_by_value_whatever_their_type),
        cmocka_unit_test(hex_shown_fields_are_numbers_that_have_a_text),
        cmocka_unit_test(text_compares_without_case_unless_told),
        cmocka_unit_test(lists_of_values_match_any),
        cmocka_unit_test(long_lists_hold_values_of_every_kind),
        cmocka_unit_test(parts_of_text_are_found),
        cmocka_unit_test(addresses_lie_in_networks),
        cmocka_unit_test(times_and_guids_compare_as_what_they_are),
        cmocka_unit_test(has_asks_for_names_bits_and_elements),
        cmocka_unit_test(logic_binds_not_before_and_before_or),
        cmocka_unit_test(the_header_decides_what_no_payload_can_change),
        cmocka_unit_test(a_schema_without_layout_or_none_has_no_data),
        cmocka_unit_test(candidates_depend_on_the_place_of_an_event_if_one_does),
        cmocka_unit_test(candidates_decide_only_together),
        cmocka_unit_test(the_first_rule_that_matches_decides_and_keep_is_the_default),
        cmocka_unit_test(rules_that_edit_decide_nothing_and_wait_for_nothing),
        cmocka_unit_test(a_search_that_takes_too_long_is_given_up_and_counted),
        cmocka_unit_test(an_event_without_layout_has_no_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
