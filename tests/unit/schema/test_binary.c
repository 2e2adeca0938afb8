#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/source/schema_sources.h"
#include "support/crim_sample.h"
#include "support/temp_folder.h"

/* The source over files: which message table it uses, and what it reports of useless files. */
static const struct schema_source_ops *const ops = &schema_source_binary;
static char folder[TEMP_FOLDER_BYTES];
static struct buf manifest;
static struct buf english;
static struct buf german;
static char warnings[8192];

static void on_warning(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
}

static int make_samples(void **state)
{
    (void)state;
    buf_init(&manifest, 1 << 16);
    buf_init(&english, 1 << 16);
    buf_init(&german, 1 << 16);
    crim_sample_put(&manifest);
    crim_sample_put_messages(&english, false);
    crim_sample_put_messages(&german, true);
    return 0;
}

static int forget_samples(void **state)
{
    (void)state;
    buf_fini(&manifest);
    buf_fini(&english);
    buf_fini(&german);
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "binary");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void path_of(const char *name, char *path, size_t size)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", folder, name) < size);
}

static void write_file(const char *name, struct span bytes)
{
    struct error err = {0};
    char path[512];
    path_of(name, path, sizeof(path));
    char *slash = strrchr(path, '/');
    *slash = 0;
    assert_true(plat_dir_create(path, &err));
    *slash = '/';
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, bytes, &err));
    plat_file_close(file);
}

enum what { MANIFEST = 1, ENGLISH = 2, GERMAN = 4, NEUTRAL_ENGLISH = 8 };

/* A program file with ${what}. */
static void write_program(const char *name, unsigned what)
{
    struct pe_put_resource list[4];
    size_t count = 0;
    if (what & MANIFEST) {
        list[count++] = (struct pe_put_resource){
            .type_name = "WEVT_TEMPLATE", .bytes = buf_span(&manifest)};
    }
    if (what & GERMAN) {
        list[count++] = (struct pe_put_resource){
            .type = 11, .language = 0x407, .bytes = buf_span(&german)};
    }
    if (what & (ENGLISH | NEUTRAL_ENGLISH)) {
        list[count++] = (struct pe_put_resource){
            .type = 11, .language = what & ENGLISH ? 0x409 : 0, .bytes = buf_span(&english)};
    }
    struct buf file;
    buf_init(&file, 1 << 20);
    pe_put(&file, &(struct pe_put_options){.gap = 4096}, list, count, NULL);
    write_file(name, buf_span(&file));
    buf_fini(&file);
}

static void *create_of(const char *path)
{
    const char *const paths[] = {path};
    const struct schema_source_settings settings = {
        .paths = paths, .path_count = 1, .warn = on_warning};
    struct error err = {0};
    warnings[0] = 0;
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

static void *create(const char *name)
{
    char path[512];
    path_of(name, path, sizeof(path));
    return create_of(path);
}

static struct schema_candidates find(void *source)
{
    const struct event_record record = {
        .kind = RECORD_EVENT, .provider = crim_sample_guid, .descriptor = {.id = 1, .version = 2}};
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    return found;
}

static void assert_message_of(void *source, const char *message)
{
    struct schema_candidates found = find(source);
    assert_int_equal(found.count, 1);
    assert_span(found.list[0]->message, message);
    ops->destroy(source);
}

/* The message of event 1 in the definitions of ${name}. */
static void assert_message(const char *name, const char *message)
{
    assert_message_of(create(name), message);
}

#define ENGLISH_TEXT "%1 rows, %3, done"
#define GERMAN_TEXT "%1 Zeilen"

static void texts_are_its_own_or_those_of_its_mui(void **state)
{
    (void)state;
    write_program("own/a.dll", MANIFEST | ENGLISH);
    write_program("both/a.exe", MANIFEST | GERMAN | ENGLISH);
    write_program("beside/a.sys", MANIFEST);
    write_program("beside/a.sys.mui", NEUTRAL_ENGLISH);
    write_program("below/A.dll", MANIFEST);
    write_program("below/de-DE/a.dll.mui", GERMAN);
    write_program("below/en-US/a.DLL.MUI", ENGLISH);
    write_program("german/a.dll", MANIFEST);
    write_program("german/de-DE/a.dll.mui", GERMAN);
    write_program("british/a.dll", MANIFEST | GERMAN);
    write_program("british/EN-GB/a.dll.mui", ENGLISH);
    write_program("other/a.dll", MANIFEST | GERMAN);
    write_program("other/fr-FR/a.dll.mui", NEUTRAL_ENGLISH);
    write_program("mui/en-US/a.dll.mui", MANIFEST | ENGLISH);
    static const struct {
        const char *name;
        const char *message;
    } rows[] = {{"own", ENGLISH_TEXT}, {"own/a.dll", ENGLISH_TEXT}, {"both", ENGLISH_TEXT},
        {"beside", ENGLISH_TEXT}, {"beside/a.sys", ENGLISH_TEXT}, {"below", ENGLISH_TEXT},
        {"below/A.dll", ENGLISH_TEXT}, {"german", GERMAN_TEXT}, {"german/a.dll", GERMAN_TEXT},
        {"british", ENGLISH_TEXT}, {"other", GERMAN_TEXT}, {"mui", ENGLISH_TEXT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_message(rows[i].name, rows[i].message);
        assert_string_equal(warnings, "");
    }
}

static void a_file_may_be_named_without_its_folder(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.dll", "./a.dll", "b.dll", "de-DE/../a.dll"};
    write_program("a.dll", MANIFEST);
    write_program("de-DE/a.dll.mui", GERMAN);
    write_program("en-US/a.dll.mui", ENGLISH);
    write_program("b.dll", MANIFEST);
    write_program("b.dll.mui", ENGLISH);
    assert_true(temp_folder_enter(folder));
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_message_of(create_of(paths[i]), ENGLISH_TEXT);
        assert_string_equal(warnings, "");
    }
    assert_true(temp_folder_enter(".."));
}

/* A message table with another program's name, or in another folder, is not its own. */
static void without_texts_the_file_is_told(void **state)
{
    (void)state;
    write_program("x/a.dll", MANIFEST);
    write_program("x/en-US/b.dll.mui", ENGLISH);
    write_program("x/far/away/a.dll.mui", ENGLISH);
    assert_message("x", "");
    assert_non_null(strstr(warnings, "a.dll: no messages"));
}

static void a_broken_table_costs_the_texts_alone(void **state)
{
    (void)state;
    struct buf kept = english;
    english.size = 40;
    write_program("x/a.dll", MANIFEST);
    write_program("x/en-US/a.dll.mui", ENGLISH);
    english = kept;
    assert_message("x", "");
    assert_non_null(strstr(warnings, "a.dll.mui: message table: "));
}

static void other_files_are_passed_over(void **state)
{
    (void)state;
    write_program("x/a.dll", MANIFEST | ENGLISH);
    write_program("x/plain.dll", 0);
    write_program("x/version.dll", ENGLISH);
    write_file("x/notes.txt", span_text("MZ"));
    assert_message("x", ENGLISH_TEXT);
    assert_string_equal(warnings, "");
}

static void what_has_the_name_of_a_program_and_is_none_is_told_once(void **state)
{
    (void)state;
    write_program("x/a.dll", MANIFEST | ENGLISH);
    write_file("x/a.dll.mui", span_text("#!/bin/sh\n"));
    write_file("x/script.exe", span_text("#!/bin/sh\n"));
    write_file("x/empty.sys", span_make(NULL, 0));
    assert_message("x", ENGLISH_TEXT);
    static const char *const names[] = {"a.dll.mui", "empty.sys", "script.exe"};
    const char *line = warnings;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "x/%s: not a program file (PE)\n", names[i]);
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        assert_non_null(strstr(line, expected));
        assert_true(strstr(line, expected) < end);
        line = end + 1;
    }
    assert_string_equal(line, "");
}

/* A user who names a file wants the source to read it. */
static void a_named_file_of_no_use_is_told(void **state)
{
    (void)state;
    write_program("plain.dll", ENGLISH);
    write_file("script.exe", span_text("#!/bin/sh\n"));
    ops->destroy(create("plain.dll"));
    assert_non_null(strstr(warnings, "plain.dll: describes no events"));
    ops->destroy(create("script.exe"));
    assert_non_null(strstr(warnings, "script.exe: not a program file"));
    ops->destroy(create("missing.dll")); /* the source of manifests reports it */
    assert_string_equal(warnings, "");
}

static void broken_files_are_told_and_do_not_stop_the_others(void **state)
{
    (void)state;
    struct buf file;
    struct pe_put_places places;
    struct pe_put_resource resource = {.type_name = "WEVT_TEMPLATE", .bytes = buf_span(&manifest)};
    buf_init(&file, 1 << 20);
    pe_put(&file, &(struct pe_put_options){.gap = 64}, &resource, 1, &places);
    write_file("x/cut.dll", span_make(file.data, file.size - 10));
    write_file("x/head.dll", span_make(file.data, places.sections));
    buf_reset(&file);
    resource.bytes = span_text("no manifest at all");
    pe_put(&file, &(struct pe_put_options){.gap = 64}, &resource, 1, &places);
    write_file("x/other.dll", buf_span(&file));
    buf_fini(&file);
    write_program("x/z.dll", MANIFEST | ENGLISH);
    assert_message("x", ENGLISH_TEXT);
    assert_non_null(strstr(warnings, "cut.dll: the file ends before"));
    assert_non_null(strstr(warnings, "head.dll: the file ends before"));
    assert_non_null(
        strstr(warnings, "other.dll: its WEVT_TEMPLATE resource is not a compiled manifest"));
    assert_null(strstr(warnings, "z.dll"));
}

/* 8,192 manifests are the most: 256 files of 32. */
static void what_is_beyond_the_most_is_told_once(void **state)
{
    (void)state;
    enum { FILES = 256, FURTHER = 4 };
    struct pe_put_resource list[PE_PUT_MAX_RESOURCES];
    const char *paths[FILES + FURTHER];
    struct buf file;
    char path[512];
    struct error err = {0};
    for (size_t i = 0; i < PE_PUT_MAX_RESOURCES; i++) {
        list[i] = (struct pe_put_resource){
            .type_name = "WEVT_TEMPLATE", .bytes = span_make("CRIM\x10\0\0\0\5\0\1\0\0\0\0\0", 16)};
    }
    buf_init(&file, 1 << 20);
    pe_put(&file, &(struct pe_put_options){.gap = 64}, list, PE_PUT_MAX_RESOURCES, NULL);
    write_file("a.dll", buf_span(&file));
    buf_fini(&file);
    path_of("a.dll", path, sizeof(path));
    for (size_t i = 0; i < FILES + FURTHER; i++) {
        paths[i] = path;
    }
    struct schema_source_settings settings = {
        .paths = paths, .path_count = FILES, .warn = on_warning};
    warnings[0] = 0;
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    assert_string_equal(warnings, "");
    ops->destroy(source);
    settings.path_count = FILES + FURTHER;
    source = ops->create(&settings, &err);
    assert_non_null(source);
    const char *told = strstr(warnings, "too many manifests");
    assert_non_null(told);
    assert_null(strstr(told + 1, "too many manifests"));
    ops->destroy(source);
}

static void count_schema(void *self, const struct event_schema *schema)
{
    assert_string_equal(schema->source, "binary");
    ++*(size_t *)self;
}

static void everything_is_listed(void **state)
{
    (void)state;
    size_t count = 0;
    write_program("x/a.dll", MANIFEST | ENGLISH);
    write_program("x/b.dll", MANIFEST | GERMAN);
    void *source = create("x");
    ops->list(source, count_schema, &count);
    assert_int_equal(count, 6);
    assert_int_equal(find(source).count, 2);
    ops->destroy(source);
    ops->destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(texts_are_its_own_or_those_of_its_mui),
        TEST(a_file_may_be_named_without_its_folder),
        TEST(without_texts_the_file_is_told),
        TEST(a_broken_table_costs_the_texts_alone),
        TEST(other_files_are_passed_over),
        TEST(what_has_the_name_of_a_program_and_is_none_is_told_once),
        TEST(a_named_file_of_no_use_is_told),
        TEST(broken_files_are_told_and_do_not_stop_the_others),
        TEST(what_is_beyond_the_most_is_told_once),
        TEST(everything_is_listed),
    };
    return cmocka_run_group_tests(tests, make_samples, forget_samples);
}
