#include "schema/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/source/schema_sources.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Packs in the form that people write, and the source over them. */

enum { MAX_TEXT = 16 << 20 };

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

#define HEAD "etwship-pack 1\nprovider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d \"P\"\n"
#define EVENT HEAD "event manifest 1 0\n"

static struct pack *read_text(const char *text, struct error *err)
{
    /* A block of its own size, so that a sanitizer sees reads beyond it. */
    size_t size = strlen(text);
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    struct pack *pack = pack_read(span_make(copy, size), "x.pack", NULL, err);
    free(copy);
    return pack;
}

static void people_may_write_it_with_comments_tabs_and_crlf(void **state)
{
    (void)state;
    struct pack *pack = read_text("# a comment\r\n", NULL);
    assert_null(pack);
    pack = read_text("\xef\xbb\xbf"
                     "etwship-pack 1 # by hand\r\n\r\n# note\r\n"
                     "provider {1C95126E-7EEA-49A9-A3FE-A378B03DDB4D} \"P\"\r\n"
                     "\tmap \"m\" values\r\n\t\tentry 0x2\"two\"\r\n entry 01 \"one\"\r\n"
                     "event mof 0 2 no_layout\r\n"
                     "class 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\r\nopcode 0x24\r\n"
                     "event manifest 0x10 0\r\n"
                     "field \"#\" UInt8 map \"m\" # the number of them\r\n"
                     "field \"s\" UnicodeString length @0",
        NULL);
    assert_non_null(pack);
    assert_int_equal(pack->event_count, 2);
    assert_int_equal(pack->events[0]->descriptor.opcode, 0x24);
    assert_false(pack->events[0]->has_layout);
    const struct event_schema *event = pack->events[1];
    assert_int_equal(event->descriptor.id, 16);
    assert_span(event->fields[0].name, "#");
    assert_span(schema_map_find(event->fields[0].map, 1), "one");
    assert_span(schema_map_find(event->fields[0].map, 2), "two");
    assert_int_equal(event->fields[1].flags, FIELD_PARAM_LENGTH);
    pack_destroy(pack);
}

/* Packs of version 1 had no zeros: whether a missing value was stated is unknown. */
static void what_a_pack_leaves_out_is_not_stated(void **state)
{
    (void)state;
    static const char *const heads[] = {"etwship-pack 1\n", "etwship-pack 2\n"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        char text[400];
        snprintf(text, sizeof(text),
            "%sprovider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d \"P\"\n"
            "event manifest 1 0\n"
            "event manifest 2 0\nlevel 0\nkeywords 0\n"
            "event eventsource 3 0\ntask 0 \"T\"\nopcode 0\nchannel 16\n"
            "event mof 0 2\nopcode 1\n",
            heads[i]);
        struct pack *pack = read_text(text, NULL);
        assert_non_null(pack);
        assert_int_equal(pack->event_count, 4);
        assert_int_equal(pack->events[0]->unstated, SCHEMA_ALL_UNSTATED);
        assert_int_equal(
            pack->events[1]->unstated, SCHEMA_NO_TASK | SCHEMA_NO_OPCODE | SCHEMA_NO_CHANNEL);
        assert_int_equal(pack->events[2]->unstated, SCHEMA_NO_LEVEL | SCHEMA_NO_KEYWORDS);
        assert_int_equal(pack->events[3]->unstated, 0);
        pack_destroy(pack);
    }
}

static void broken_packs_say_file_line_and_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"", "x.pack:1: not a schema pack: it does not begin with etwship-pack and a version"},
        {"<xml/>",
            "x.pack:1: not a schema pack: it does not begin with etwship-pack and a version"},
        {"etwship-pack 4\n",
            "x.pack:1: its version is not 1, 2 or 3; use the etwship that wrote it"},
        {"etwship-pack\n", "x.pack:1: its version is not 1, 2 or 3; use the etwship that wrote it"},
        {"etwship-pack 1\nevent manifest 1 0\n", "x.pack:2: not allowed here: \"event\""},
        {"etwship-pack 1\nprovider 1 \"P\"\n", "x.pack:2: a GUID is missing"},
        {"etwship-pack 1\nprovider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d\n",
            "x.pack:2: a text in double quotes is missing"},
        {HEAD "entry 1 \"x\"\n", "x.pack:3: not allowed here: \"entry\""},
        {HEAD "level 1\n", "x.pack:3: not allowed here: \"level\""},
        {HEAD "hello\n", "x.pack:3: unknown keyword \"hello\""},
        {HEAD "\"hello\"\n", "x.pack:3: unknown keyword \"\""},
        {HEAD "map \"a\" some\n", "x.pack:3: a map must be of values or of bits"},
        {HEAD "map \"a\" bits\nmap \"a\" bits\n",
            "x.pack:4: this provider already has a different map of that name"},
        {HEAD "map \"a\" bits\nentry \"a\"\n",
            "x.pack:4: \"\" is not a number from 0 to 18446744073709551615"},
        {HEAD "event tracelogging 1 0\n",
            "x.pack:3: the kind of an event must be manifest, eventsource or mof"},
        {HEAD "event manifest 65536 0\n", "x.pack:3: \"65536\" is not a number from 0 to 65535"},
        {HEAD "event manifest 1 256\n", "x.pack:3: \"256\" is not a number from 0 to 255"},
        {HEAD "event manifest 1 0 layout\n", "x.pack:3: only no_layout may follow the version"},
        {EVENT "level 4 \"Info\" x\n", "x.pack:4: unexpected text at the end of the line"},
        {EVENT "level 4 \"Info\n", "x.pack:4: the closing double quote is missing"},
        {EVENT "level 4 \"Info\\", "x.pack:4: the closing double quote is missing"},
        {EVENT "name \"\\q\"\n", "x.pack:4: a backslash must be followed by one of \\ \" n r t x"},
        {EVENT "name \"\\x4\"\n", "x.pack:4: a backslash must be followed by one of \\ \" n r t x"},
        {EVENT "name \"\\xG0\"\n",
            "x.pack:4: a backslash must be followed by one of \\ \" n r t x"},
        {EVENT "field \"a\" Int\n", "x.pack:4: unknown type \"Int\""},
        {EVENT "field \"a\" UInt8 as Text\n", "x.pack:4: unknown out type \"Text\""},
        {EVENT "field \"a\" UInt8 map \"m\"\n",
            "x.pack:4: this provider has no map of that name before this line"},
        {EVENT "field \"a\" UInt8 twice\n",
            "x.pack:4: a field does not have the attribute \"twice\""},
        {EVENT "field \"a\" UInt8 count 65536\n",
            "x.pack:4: \"65536\" is not a number from 0 to 65535"},
        {EVENT "field \"a\" struct 1\n",
            "x.pack:4: a field is missing: its name in double quotes, or @ and its number"},
        {EVENT "field \"a\" UInt8\nfield \"b\" UInt8 count \"c\"\n",
            "x.pack:5: it refers to a field that the event does not have"},
        {EVENT "field \"a\" UInt8\nfield \"a\" UInt8\nfield \"b\" UInt8 count \"a\"\n",
            "x.pack:6: it refers to a name that several fields have; use @number"},
        {EVENT "member \"a\" UInt8\nfield \"b\" UInt8\n",
            "x.pack:5: members must follow all fields"},
        {EVENT "field \"a\" UInt8\nfield \"b\" UInt8 count @2\n",
            "x.pack:3: property 1 (b): its count is not another integer property"},
        {EVENT "field \"a\" struct \"a\" 1\n", "x.pack:3: property 0 (a): members out of range"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = {0};
        struct pack *pack = read_text(cases[i].text, &err);
        assert_null(pack);
        assert_string_equal(err.text, cases[i].error);
    }
}

static void maps_belong_to_their_provider(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(read_text(HEAD "map \"m\" values\n"
                               "provider 1c95126e-7eea-49a9-a3fe-a378b03ddb4e \"Q\"\n"
                               "event manifest 1 0\nfield \"a\" UInt8 map \"m\"\n",
        &err));
    assert_string_equal(
        err.text, "x.pack:6: this provider has no map of that name before this line");
}

static void more_fields_than_the_limit_are_refused(void **state)
{
    (void)state;
    struct buf text;
    struct error err = {0};
    buf_init(&text, MAX_TEXT);
    buf_add_text(&text, EVENT);
    for (size_t i = 0; i <= SCHEMA_MAX_FIELDS; i++) {
        buf_add_text(&text, "field \"\" UInt8\n");
    }
    assert_null(pack_read(buf_span(&text), "x.pack", NULL, &err));
    assert_string_equal(err.text, "x.pack:4100: too many fields");
    buf_fini(&text);
}

/* ---- the source ------------------------------------------------------------------------------ */

static char warning[1200];

static void keep_warning(void *self, const char *text)
{
    (void)self;
    snprintf(warning, sizeof(warning), "%s", text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void count_schema(void *self, const struct event_schema *schema)
{
    assert_non_null(schema);
    *(size_t *)self += 1;
}

static void the_source_finds_by_exact_id_and_version_and_by_class(void **state)
{
    (void)state;
    char folder[TEMP_FOLDER_BYTES];
    assert_int_equal(temp_folder_make(folder, "pack"), 0);
    char path[TEMP_FOLDER_BYTES + 16];
    snprintf(path, sizeof(path), "%s/a.pack", folder);
    write_file(path, HEAD "event manifest 7 1\nname \"first\"\n"
                          "event manifest 7 1\nname \"second\"\n"
                          "event manifest 7 2\nname \"other\"\n"
                          "event mof 0 3\nclass 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\n"
                          "opcode 5\nname \"classic\"\n");
    const char *paths[] = {path, "missing.pack"};
    const struct schema_source_settings settings = {
        .paths = paths, .path_count = 2, .warn = keep_warning};
    warning[0] = '\0';
    void *source = schema_source_pack.create(&settings, NULL);
    assert_non_null(source);
    assert_string_equal(warning, "");
    struct event_record record = {.kind = RECORD_EVENT};
    guid_parse(span_text("1c95126e-7eea-49a9-a3fe-a378b03ddb4d"), &record.provider);
    record.descriptor.id = 7;
    record.descriptor.version = 1;
    struct schema_candidates found = {.count = 0};
    schema_source_pack.find(source, &record, &found);
    assert_int_equal(found.count, 2);
    assert_span(found.list[0]->event_name, "first");
    assert_span(found.list[1]->event_name, "second");
    record.descriptor.version = 3;
    schema_source_pack.find(source, &record, &found);
    record.kind = RECORD_CLASSIC;
    record.descriptor.opcode = 5;
    schema_source_pack.find(source, &record, &found);
    assert_int_equal(found.count, 2);
    guid_parse(span_text("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), &record.provider);
    schema_source_pack.find(source, &record, &found);
    assert_int_equal(found.count, 3);
    assert_span(found.list[2]->event_name, "classic");
    size_t listed = 0;
    schema_source_pack.list(source, count_schema, &listed);
    assert_int_equal(listed, 4);
    schema_source_pack.destroy(source);
    write_file(path, "etwship-pack 1\nnonsense\n");
    source = schema_source_pack.create(&settings, NULL);
    assert_non_null(source);
    char expected[256];
    snprintf(expected, sizeof(expected), "%s:2: unknown keyword \"nonsense\"", path);
    assert_string_equal(warning, expected);
    schema_source_pack.destroy(source);
    temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_may_write_it_with_comments_tabs_and_crlf),
        cmocka_unit_test(what_a_pack_leaves_out_is_not_stated),
        cmocka_unit_test(broken_packs_say_file_line_and_what_is_wrong),
        cmocka_unit_test(maps_belong_to_their_provider),
        cmocka_unit_test(more_fields_than_the_limit_are_refused),
        cmocka_unit_test(the_source_finds_by_exact_id_and_version_and_by_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
