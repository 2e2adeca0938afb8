#include "schema/source/corrections.h"

#include <stdio.h>

#include "base/buf.h"
#include "event/model/type_names.h"
#include "schema/pack/pack.h"
#include "support/test.h"

/*
 * Layouts are written as packs (schema/pack/pack.h), and their corrected form is compared field by
 * field. tests/golden/corrections.py compares the program's rows with real manifests; here they are
 * Kernel-Network's, from tx/SystemEvents.man of microsoft/Tx, and the CLR's.
 */
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define COLUMNS \
    "provider\tguid\tevents\tversions\tfield\twas\tin\tout\tlength\tcount\tbefore\tknown_from\n"
#define NETWORK "7dd42a49-5329-4832-8dfd-43d979153a88"
#define SAMPLE "5e1f0a52-7c1d-4a2b-9f30-1122334455aa"

struct fixture {
    struct corrections *corrections;
    struct pack *pack;
    struct arena arena;
    struct event_schema schema; /* a copy of the first schema */
    struct buf text;
};

/* ${table}: of a file; NULL: only the program's rows. */
static void begin(struct fixture *f, const char *table, const char *pack)
{
    static const struct schema_source_settings none;
    struct error err = {0};
    *f = (struct fixture){.corrections = corrections_create(&none, &err)};
    assert_non_null(f->corrections);
    arena_init(&f->arena, 1 << 20);
    buf_init(&f->text, 1 << 20);
    if (table && !corrections_add(f->corrections, span_text(table), "t.tsv", &err)) {
        fail_msg("%s", err.text);
    }
    f->pack = pack_read(span_text(pack), "p", NULL, &err);
    if (!f->pack) {
        fail_msg("%s", err.text);
    }
    f->schema = *f->pack->events[0];
}

static void end(struct fixture *f)
{
    corrections_destroy(f->corrections);
    pack_destroy(f->pack);
    arena_fini(&f->arena);
    buf_fini(&f->text);
}

/* `a UInt16/Port!`, with ! if the field was corrected; `[n]` and `[field]` are counts, `(…)` a
 * length. */
static void describe(struct fixture *f)
{
    const struct event_schema *schema = &f->schema;
    f->text.size = 0;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        bool is_struct = field->flags & FIELD_STRUCT;
        buf_printf(&f->text, "%s%.*s %s", i ? ", " : "", SPAN_ARG(field->name),
            is_struct ? "struct" : type_names_in(field->in_type));
        if (is_struct) {
            buf_printf(&f->text, " %.*s", SPAN_ARG(schema->fields[field->struct_start].name));
        }
        if (field->out_type) {
            buf_printf(&f->text, "/%s", type_names_out(field->out_type));
        }
        if (field->flags & FIELD_PARAM_LENGTH) {
            buf_printf(&f->text, "(%.*s)", SPAN_ARG(schema->fields[field->length].name));
        } else if (field->length) {
            buf_printf(&f->text, "(%u)", field->length);
        }
        if (field->flags & FIELD_PARAM_COUNT) {
            buf_printf(&f->text, "[%.*s]", SPAN_ARG(schema->fields[field->count].name));
        } else if (field->is_array) {
            buf_printf(&f->text, "[%u]", field->count);
        }
        buf_add_text(&f->text, field->flags & FIELD_CORRECTED ? "!" : "");
    }
    buf_add_byte(&f->text, 0);
}

static const char *corrected(struct fixture *f)
{
    assert_true(corrections_apply(f->corrections, &f->schema, &f->arena));
    describe(f);
    return (const char *)f->text.data;
}

#define HEAD(guid) "etwship-pack 1\nprovider " guid " \"P\"\n"

static void what_public_manifests_lack_is_filled_in(void **state)
{
    (void)state;
    static const struct {
        const char *pack;
        const char *fields;
    } cases[] = {
        /* without out types, as TraceEvent (PerfView) writes it */
        {HEAD(NETWORK) "event manifest 10 0\nfield \"PID\" UInt32\nfield \"daddr\" UInt32\n"
                       "field \"saddr\" UInt32\nfield \"dport\" UInt16\nfield \"sport\" UInt16\n",
            "PID UInt32, daddr UInt32/IPv4!, saddr UInt32/IPv4!, dport UInt16/Port!, sport "
            "UInt16/Port!"},
        /* addresses of unknown length: */
        {HEAD(NETWORK) "event manifest 26 0\nfield \"PID\" UInt32\nfield \"daddr\" Binary\n"
                       "field \"saddr\" Binary\nfield \"dport\" UInt16\nfield \"sport\" UInt16\n",
            "PID UInt32, daddr Binary/IPv6(16)!, saddr Binary/IPv6(16)!, dport UInt16/Port!, sport "
            "UInt16/Port!"},
        /* … and without them, as in derived/Microsoft-Windows-Kernel-Network.man */
        {HEAD(NETWORK) "event manifest 58 0\nfield \"PID\" UInt32\nfield \"size\" UInt32\n"
                       "field \"dport\" UInt16\nfield \"sport\" UInt16\nfield \"seqnum\" UInt32\n",
            "PID UInt32, size UInt32, daddr Binary/IPv6(16)!, saddr Binary/IPv6(16)!, dport "
            "UInt16/Port!, sport UInt16/Port!, seqnum UInt32"},
        /* an out type that every field has says nothing */
        {HEAD(NETWORK) "event manifest 13 0\nfield \"dport\" UInt16 as 6\n", "dport UInt16/Port!"},
        /* an event that has no ports */
        {HEAD(NETWORK) "event manifest 17 0\nfield \"Proto\" UInt16\nfield \"dport\" UInt16\n",
            "Proto UInt16, dport UInt16"},
        /* the CLR's stacks: an array of 2 in its manifest, and of 1 in others */
        {HEAD("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4") "event manifest 82 0\n"
                                                      "field \"FrameCount\" UInt32\nfield "
                                                      "\"Stack\" Pointer count 2\n",
            "FrameCount UInt32, Stack Pointer[FrameCount]!"},
        {HEAD("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4") "event manifest 82 0\n"
                                                      "field \"FrameCount\" UInt32\nfield "
                                                      "\"Stack\" UInt64\n",
            "FrameCount UInt32, Stack Pointer[FrameCount]!"},
        /* a count that does not come before the array is not its count */
        {HEAD("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4") "event manifest 82 0\n"
                                                      "field \"Stack\" Pointer count 2\nfield "
                                                      "\"FrameCount\" UInt32\n",
            "Stack Pointer[2], FrameCount UInt32"},
        {HEAD("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716") "event manifest 1 3\n"
                                                      "field \"CreateTime\" UInt64\n",
            "CreateTime FILETIME!"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        begin(&f, NULL, cases[i].pack);
        assert_string_equal(corrected(&f), cases[i].fields);
        end(&f);
    }
}

static void a_definition_that_says_it_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const packs[] = {
        HEAD(NETWORK) "event manifest 26 0\nfield \"daddr\" Binary as IPv6 length 16\n"
                      "field \"saddr\" Binary as IPv6 length 16\nfield \"dport\" UInt16 as Port\n",
        /* differs from the table: a newer Windows may have it so */
        HEAD(NETWORK) "event manifest 10 7\nfield \"daddr\" UnicodeString\n"
                      "field \"dport\" UInt32\nfield \"sport\" UInt16 as HexInt16\n",
        HEAD("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4") "event manifest 82 0\n"
                                                     "field \"FrameCount\" UInt32\nfield \"Stack\" "
                                                     "Pointer count \"FrameCount\"\n",
        /* another provider with equal fields */
        HEAD(SAMPLE) "event manifest 10 0\nfield \"daddr\" UInt32\nfield \"dport\" UInt16\n",
        HEAD(NETWORK) "event manifest 10 0 no_layout\n",
    };
    for (size_t i = 0; i < COUNT_OF(packs); i++) {
        struct fixture f;
        begin(&f, NULL, packs[i]);
        const struct schema_field *fields = f.schema.fields;
        corrected(&f);
        assert_ptr_equal(f.schema.fields, fields);
        assert_null(strchr((const char *)f.text.data, '!'));
        end(&f);
    }
}

static void correcting_twice_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL,
        HEAD(NETWORK) "event manifest 26 0\nfield \"size\" UInt32\nfield \"dport\" UInt16\n"
                      "field \"x.y\" UInt8\nfield \"x.y\" UInt8\n");
    static const char fields[] = "size UInt32, daddr Binary/IPv6(16)!, saddr Binary/IPv6(16)!, "
                                 "dport UInt16/Port!, x_y UInt8, x_y_2 UInt8";
    assert_string_equal(corrected(&f), fields);
    const struct schema_field *before = f.schema.fields;
    assert_string_equal(corrected(&f), fields);
    assert_ptr_equal(f.schema.fields, before);
    end(&f);
}

static void what_points_behind_a_new_field_moves(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, COLUMNS "-\t" SAMPLE "\t1\t*\tnew\t-\tUInt16\t-\t-\t-\tend\t-\n",
        HEAD(SAMPLE) "event manifest 1 0\nfield \"n\" UInt8\nfield \"end\" UInt32\n"
                     "field \"size\" UInt8\nfield \"data\" Binary length \"size\"\n"
                     "field \"list\" UInt8 count \"n\"\nfield \"s\" struct \"m\" 2 count \"size\"\n"
                     "member \"m\" UInt8\nmember \"o\" Binary length \"m\"\n");
    assert_string_equal(corrected(&f),
        "n UInt8, new UInt16!, end UInt32, size UInt8, data Binary(size), list UInt8[n], s struct "
        "m[size], m UInt8, o Binary(m)");
    end(&f);
    /* Inserts of a message count fields: an event with a message has all of its fields. */
    begin(&f, COLUMNS "-\t" SAMPLE "\t1\t*\tnew\t-\tUInt16\t-\t-\t-\tend\t-\n",
        HEAD(SAMPLE) "event manifest 1 0\nmessage \"%1\"\nfield \"end\" UInt32\n");
    assert_string_equal(corrected(&f), "end UInt32");
    end(&f);
}

static void rows_are_found_by_provider_event_and_version(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        bool is_meant; /* event 7, version 2 of provider P, SAMPLE */
    } cases[] = {
        {"P\t-\t7\t2", true},
        {"p\t-\t*\t*", true},
        {"Q\t-\t7\t2", false},
        {"Q\t" SAMPLE "\t7\t2", true}, /* the GUID identifies the provider */
        {"P\t" NETWORK "\t7\t2", false},
        {"*\t-\t7\t2", true},
        {"P\t-\t1,3-5,7\t*", true},
        {"P\t-\t5-9\t*", true},
        {"P\t-\t5-\t*", true},
        {"P\t-\t8-\t*", false},
        {"P\t-\t6\t*", false},
        {"P\t-\t0x7\t*", true},
        {"P\t-\t7\t0-1", false},
        {"P\t-\t7\t1-", true},
        {"P\t-\t7\t3-", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char table[512];
        struct fixture f;
        snprintf(table, sizeof(table), "%s%s\tport\t-\tUInt16\tPort\t-\t-\t-\there\n", COLUMNS,
            cases[i].row);
        begin(&f, table, HEAD(SAMPLE) "event manifest 7 2\nfield \"port\" UInt16\n");
        assert_string_equal(corrected(&f), cases[i].is_meant ? "port UInt16/Port!" : "port UInt16");
        end(&f);
    }
    /* For classic events the code is the type, and the provider may also be the class. */
    struct fixture f;
    begin(&f, COLUMNS "-\t" NETWORK "\t12\t*\tport\t-\tUInt16\tPort\t-\t-\t-\t-\n",
        HEAD(SAMPLE) "event mof 0 2\nclass " NETWORK "\nopcode 12\nfield \"port\" UInt16\n");
    assert_string_equal(corrected(&f), "port UInt16/Port!");
    end(&f);
}

static void the_first_row_for_a_field_counts(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        const char *fields;
    } cases[] = {
        {"P\t-\t7\t*\ta\t-\tUInt16\tHexInt16\t-\t-\t-\t-\nP\t-\t*\t*\ta\t-\tUInt16\tPort\t-\t-\t-"
         "\t-\n"
         "P\t-\t*\t*\tb\t-\tUInt16\tPort\t-\t-\t-\t-\n",
            "a UInt16/HexInt16!, b UInt16/Port!"},
        /* with its own type, for one field or all */
        {"P\t-\t7\t*\ta\t-\t-\t-\t-\t-\t-\t-\nP\t-\t*\t*\ta\t-\tUInt16\tPort\t-\t-\t-\t-\n"
         "P\t-\t*\t*\tb\t-\tUInt16\tPort\t-\t-\t-\t-\n",
            "a UInt16, b UInt16/Port!"},
        {"*\t-\t*\t*\t*\t-\t-\t-\t-\t-\t-\t-\nP\t-\t*\t*\tb\t-\tUInt16\tPort\t-\t-\t-\t-\n",
            "a UInt16, b UInt16"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char table[512];
        struct fixture f;
        snprintf(table, sizeof(table), "# mine\r\n\n%s%s", COLUMNS, cases[i].table);
        begin(
            &f, table, HEAD(SAMPLE) "event manifest 7 2\nfield \"a\" UInt16\nfield \"b\" UInt16\n");
        assert_string_equal(corrected(&f), cases[i].fields);
        end(&f);
    }
}

static void a_table_that_is_wrong_is_told_by_line_and_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"a\tb\n", "t.tsv:1: the header line is missing"},
        {COLUMNS "P\t-\t7\t*\ta\t-\tUInt16\tPort\t-\t-\t-\n", "t.tsv:2: a row needs 12 cells"},
        {COLUMNS "P\t-\t7\t*\ta\t-\tUInt16\tPort\t-\t-\t-\t-\t-\n",
            "t.tsv:2: a row needs 12 cells"},
        {COLUMNS "\nP\t{x}\t7\t*\ta\t-\tUInt16\t-\t-\t-\t-\t-\n",
            "t.tsv:3: guid \"{x}\": must be a GUID"},
        {COLUMNS "P\t-\t7,\t*\ta\t-\tUInt16\t-\t-\t-\t-\t-\n", "t.tsv:2: events \""},
        {COLUMNS "P\t-\t9-7\t*\ta\t-\tUInt16\t-\t-\t-\t-\t-\n", "t.tsv:2: events \"9-7\""},
        {COLUMNS "P\t-\t65536\t*\ta\t-\tUInt16\t-\t-\t-\t-\t-\n", "t.tsv:2: events \"65536\""},
        {COLUMNS "P\t-\t7\t256\ta\t-\tUInt16\t-\t-\t-\t-\t-\n", "t.tsv:2: versions \"256\""},
        {COLUMNS "P\t-\t7\t1,2\ta\t-\tUInt16\t-\t-\t-\t-\t-\n", "t.tsv:2: versions \"1,2\""},
        {COLUMNS "P\t-\t7\t*\ta\tInt\tUInt16\t-\t-\t-\t-\t-\n",
            "t.tsv:2: was \"Int\": not an in type"},
        {COLUMNS "P\t-\t7\t*\ta\t-\tPort\t-\t-\t-\t-\t-\n", "t.tsv:2: in \"Port\": not an in type"},
        {COLUMNS "P\t-\t7\t*\ta\t-\t-\tporte\t-\t-\t-\t-\n",
            "t.tsv:2: out \"porte\": not an out type"},
        {COLUMNS "P\t-\t7\t*\ta\tUInt8\t-\t-\t-\t-\t-\t-\n",
            "t.tsv:2: in \"-\": the corrected type"},
        {COLUMNS "P\t-\t7\t*\ta\t-\t-\tPort\t-\t-\tb\t-\n",
            "t.tsv:2: in \"-\": the corrected type"},
        {COLUMNS "P\t-\t7\t*\t*\t-\t-\tPort\t-\t-\t-\t-\n", "t.tsv:2: field \"*\": must be - in"},
        {COLUMNS "P\t-\t7\t*\t\t-\t-\tPort\t-\t-\t-\t-\n", "t.tsv:2: field \"\": is empty"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        struct error err = {0};
        begin(&f, NULL, HEAD(SAMPLE) "event manifest 7 2\nfield \"port\" UInt16\n");
        char text[1024];
        snprintf(
            text, sizeof(text), "%sP\t-\t7\t*\tport\t-\tUInt16\tPort\t-\t-\t-\t-\n", cases[i].text);
        assert_false(corrections_add(f.corrections, span_text(text), "t.tsv", &err));
        if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0) {
            fail_msg("case %zu: %s", i, err.text);
        }
        assert_string_equal(corrected(&f), "port UInt16");
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_public_manifests_lack_is_filled_in),
        cmocka_unit_test(a_definition_that_says_it_stays_as_it_is),
        cmocka_unit_test(correcting_twice_changes_nothing),
        cmocka_unit_test(what_points_behind_a_new_field_moves),
        cmocka_unit_test(rows_are_found_by_provider_event_and_version),
        cmocka_unit_test(the_first_row_for_a_field_counts),
        cmocka_unit_test(a_table_that_is_wrong_is_told_by_line_and_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
