#include "outputs/file/file_rotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/outputs.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Rotation through the output itself: what lies in the folder afterwards. */
static char folder[TEMP_FOLDER_BYTES];

struct fixture {
    struct config *config;
    void *self;
    size_t saves;
    bool refuses; /* to store checkpoints */
    bool connects_late;
    struct buf stored;
    char warned[512];
};

static bool store(void *self, struct error *err)
{
    struct fixture *f = self;
    f->saves++;
    if (f->refuses) {
        return error_set(err, ERR_IO, "no");
    }
    buf_reset(&f->stored);
    return output_file.checkpoint(f->self, &f->stored, err);
}

static void warn(void *self, const char *text)
{
    snprintf(
        ((struct fixture *)self)->warned, sizeof(((struct fixture *)self)->warned), "%s", text);
}

/* ${yaml} has a %s for the folder. ${checkpoint}: of an output before. */
static void open_again(struct fixture *f, const char *yaml, struct span checkpoint)
{
    char text[512];
    struct config_report report;
    struct error err = {0};
    config_report_init(&report);
    snprintf(text, sizeof(text), yaml, folder);
    f->config = config_create(NULL, NULL);
    const void *settings = config_parse(f->config, span_text(text), "t.yaml", output_file.fields,
        output_file.settings_size, &report);
    assert_true(config_report_ok(&report));
    assert_true(config_check_first(output_file.check, settings, &err));
    config_report_fini(&report);
    const struct output_env env = {
        .name = "test", .checkpoint = checkpoint, .save = store, .warn = warn, .host = f};
    f->self = output_file.create(settings, &env, &err);
    assert_non_null(f->self);
    if (!f->connects_late && !output_file.connect(f->self, &err)) {
        fail_msg("%s", err.text);
    }
}

static void open_output(struct fixture *f, const char *yaml)
{
    *f = (struct fixture){.saves = 0};
    buf_init(&f->stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    temp_folder_remove(folder);
    assert_true(plat_dir_create(folder, NULL));
    open_again(f, yaml, span_make(NULL, 0));
}

static void close_output(struct fixture *f)
{
    output_file.destroy(f->self);
    config_destroy(f->config);
    f->self = NULL;
}

static void fini(struct fixture *f)
{
    close_output(f);
    buf_fini(&f->stored);
}

enum { MAX_LINES = 256 };

/* Send the lines of ${text}, each to ${routes}[i] below the folder (NULL: no routes). */
static enum output_verdict send_lines(
    struct fixture *f, const char *text, const char *const *routes)
{
    uint32_t ends[MAX_LINES];
    uint32_t numbers[MAX_LINES];
    struct span names[MAX_LINES];
    static char paths[MAX_LINES][TEMP_FOLDER_BYTES + 64];
    size_t count = 0;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] == '\n') {
            numbers[count] = (uint32_t)count;
            if (routes) {
                snprintf(paths[count], sizeof(paths[count]), "%s/%s", folder, routes[count]);
                names[count] = span_text(paths[count]);
            }
            ends[count++] = (uint32_t)i + 1;
        }
    }
    const struct delivery delivery = {.bytes = span_text(text),
        .record_ends = ends,
        .record_count = count,
        .routes = routes ? numbers : NULL,
        .route_names = names,
        .route_count = routes ? count : 0};
    struct output_report report = {.records = NULL};
    return output_file.send(f->self, &delivery, &report);
}

static void assert_content(const char *name, const char *expected)
{
    char path[256];
    char got[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    gzFile file = gzopen(path, "rb");
    if (!file) {
        fail_msg("%s is not there", name);
    }
    int size = gzread(file, got, sizeof(got) - 1);
    assert_true(size >= 0);
    got[size] = '\0';
    gzclose(file);
    assert_string_equal(got, expected);
}

static size_t count_files;
static bool count_one(void *self, const char *path)
{
    (void)self;
    count_files += strstr(path, "/.etwship-") == NULL; /* the output's own note of its files */
    return true;
}

static size_t files_in_folder(void)
{
    char pattern[TEMP_FOLDER_BYTES + 16];
    snprintf(pattern, sizeof(pattern), "%s/**", folder);
    count_files = 0;
    plat_glob(pattern, count_one, NULL, NULL);
    return count_files;
}

static bool is_there(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return temp_file_is_there(path);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void no_file_grows_beyond_its_size_even_within_a_batch(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 4}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.1", "1\n2\n");
    assert_content("e.2", "3\n4\n");
    assert_content("e", "5\n");
    /* One that is too long by itself has a file to itself. */
    assert_int_equal(send_lines(&f, "too long\n6\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.3", "5\n");
    assert_content("e.4", "too long\n");
    assert_content("e", "6\n");
    fini(&f);
}

static void numbers_go_on_behind_those_that_are_there(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2}}");
    static const char *const others[] = {"e.7.gz", "e.3", "e.x", "e.08", "e.9.bak", "e."};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, others[i]);
        fclose(fopen(path, "wb"));
    }
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.8", "1\n");
    assert_content("e.9", "2\n");
    assert_content("e", "3\n");
    fini(&f);
}

/* Somebody else has the highest number that there is: then it is the one behind ours. */
static void the_highest_number_is_used_and_none_beyond_it(void **state)
{
    (void)state;
    static const struct {
        const char *theirs;
        const char *ours;
    } cases[] = {{"e.999999999998", "e.999999999999"}, {"e.999999999999", "e.1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        char path[256];
        open_output(&f, "{path: '%s/e', rotate: {size: 2}}");
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].theirs);
        assert_true(plat_file_replace(path, span_text("theirs"), NULL));
        assert_int_equal(send_lines(&f, "1\n2\n", NULL), OUTPUT_DELIVERED);
        assert_content(cases[i].ours, "1\n");
        assert_content(cases[i].theirs, "theirs");
        fini(&f);
    }
}

/* A checkpoint has room for so many bytes: 2 for the length of a path, the path, 8 for its number, and 2
 * for the end. */
static void chores_are_stored_as_long_as_there_is_room(void **state)
{
    (void)state;
    static const struct file_rotation rules = {.keep = 1};
    static const char *const paths[] = {"a", "bb"};
    static const struct {
        size_t max_bytes;
        size_t size;
    } cases[] = {{12, 2}, {13, 13}, {24, 13}, {25, 25}, {100, 25}};
    struct event_template *template = event_template_create(
        span_text("{provider.name}"), EVENT_TEMPLATE_PATH, NULL);
    struct file_rotator rotator;
    file_rotator_init(&rotator, &rules, NULL, template);
    for (size_t i = 0; i < 2; i++) {
        char path[4];
        snprintf(path, sizeof(path), "%s", paths[i]);
        file_rotator_began(&rotator, &(struct file_entry){.path = path});
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 1000);
        file_rotator_save(&rotator, cases[i].max_bytes, &out);
        assert_int_equal(out.size, cases[i].size);
        buf_fini(&out);
    }
    file_rotator_fini(&rotator);
    event_template_destroy(template);
}

static void rotated_files_are_compressed_in_the_end(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, gzip: true}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_content("e.1.gz", "1\n");
    assert_content("e.2.gz", "2\n");
    assert_content("e", "3\n");
    assert_int_equal(files_in_folder(), 3);
    assert_int_equal(send_lines(&f, "4\n", NULL), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("e.3.gz", "3\n");
    assert_int_equal(files_in_folder(), 4);
}

static void it_says_when_there_is_more_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool refuses; /* so that files cannot be compressed yet */
        bool again;
    } cases[] = {{"{path: '%s/e'}", false, false},
        {"{path: '%s/e', rotate: {size: 2, gzip: true}}", false, false},
        {"{path: '%s/e', rotate: {size: 2, gzip: true}}", true, true},
        {"{path: '%s/e', rotate: {age: 500d}}", false, true}};
    const uint64_t minute_ns = UINT64_C(60000000000); /* the clock may be set meanwhile */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        open_output(&f, cases[i].yaml);
        assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
        f.refuses = cases[i].refuses;
        uint64_t before = plat_monotonic_ns();
        uint64_t due = output_file.idle(f.self);
        assert_true(cases[i].again ? due > before && due <= plat_monotonic_ns() + minute_ns
                                   : due == UINT64_MAX);
        fini(&f);
    }
}

static void nothing_is_made_for_good_before_the_checkpoint_is_stored(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, gzip: true, keep: 1}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    f.refuses = true;
    output_file.idle(f.self);
    assert_string_equal(f.warned, "no");
    assert_content("e.1", "1\n");
    assert_content("e.2", "2\n");
    f.refuses = false;
    output_file.idle(f.self);
    assert_int_equal(files_in_folder(), 2);
    assert_content("e.2.gz", "2\n");
    fini(&f);
}

static void what_a_run_before_left_is_compressed_by_the_next(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const old[] = {"2025/e"};
    static const char *const next[] = {"2026/e", "2026/e"};
    const char *yaml = "{path: '%s/%%Y/e', rotate: {size: 2, gzip: true}}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n", old), OUTPUT_DELIVERED);
    assert_int_equal(send_lines(&f, "2\n", old), OUTPUT_DELIVERED);
    struct error err;
    assert_true(store(&f, &err));
    f.refuses = true; /* so that ending does not compress it */
    close_output(&f);
    assert_true(is_there("2025/e.1"));
    f.refuses = false;
    struct buf checkpoint = f.stored;
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, yaml, buf_span(&checkpoint));
    buf_fini(&checkpoint);
    assert_int_equal(send_lines(&f, "3\n4\n", next), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("2025/e.1.gz", "1\n");
    assert_content("2026/e.1.gz", "3\n");
    assert_int_equal(files_in_folder(), 4);
}

/* All is delivered, so the host never connects: what was half done is completed all the same. */
static void a_run_without_events_completes_what_was_left(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    const char *yaml = "{path: '%s/e', rotate: {size: 2, gzip: true}}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n", NULL), OUTPUT_DELIVERED);
    assert_true(store(&f, &err));
    assert_int_equal(send_lines(&f, "3\n", NULL), OUTPUT_DELIVERED);
    f.refuses = true;
    close_output(&f);
    assert_true(is_there("e.1"));
    f.refuses = false;
    f.connects_late = true;
    struct buf checkpoint = f.stored;
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, yaml, buf_span(&checkpoint));
    buf_fini(&checkpoint);
    fini(&f);
    assert_content("e.1.gz", "1\n");
    assert_content("e", "2\n");
    assert_int_equal(files_in_folder(), 2);
}

static void only_the_newest_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, keep: 2}}");
    assert_int_equal(
        send_lines(&f, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", NULL), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_content("e.10", "10\n");
    assert_content("e.11", "11\n");
    assert_content("e", "12\n");
    assert_int_equal(files_in_folder(), 3);
    fini(&f);
}

static void each_family_keeps_its_own_over_all_times(void **state)
{
    (void)state;
    struct fixture f;
    /* Not in the order of the text: newest is what is newest by year, month and day. */
    static const char *const routes[] = {"a/01-02-2026.e", "a/02-01-2026.e", "a/03-12-2025.e",
        "a/31-12-2024.e", "b/01-01-2001.e", "a/01-03-2026.e"};
    static const char *const now[] = {"a/05-03-2026.e"};
    open_output(&f, "{path: '%s/{provider.name}/%%d-%%m-%%Y.e', rotate: {keep: 3}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n6\n", routes), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_int_equal(files_in_folder(), 6); /* all are open */
    output_file.disconnect(f.self);
    struct error err;
    assert_true(output_file.connect(f.self, &err));
    assert_int_equal(send_lines(&f, "7\n", now), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_true(is_there("a/05-03-2026.e"));
    assert_true(is_there("a/01-03-2026.e"));
    assert_true(is_there("a/01-02-2026.e"));
    assert_true(is_there("a/02-01-2026.e"));
    assert_true(is_there("b/01-01-2001.e"));
    assert_int_equal(files_in_folder(), 5);
    fini(&f);
}

static void an_old_file_is_set_aside_without_an_event(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {age: 1ms}}");
    assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
    while (!is_there("e.1")) {
        output_file.idle(f.self); /* until it is a millisecond old */
    }
    assert_false(is_there("e"));
    output_file.idle(f.self);
    assert_int_equal(send_lines(&f, "2\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.1", "1\n");
    fini(&f);
}

/* Between two runs somebody has put another file into the place of ours. */
static void an_old_file_that_is_not_known_is_left_alone(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const routes[] = {"a.e", "b.e"};
    open_output(&f, "{path: '%s/{provider.name}.e', rotate: {age: 1h}}");
    assert_int_equal(send_lines(&f, "1\n2\n", routes), OUTPUT_DELIVERED);
    assert_true(store(&f, NULL));
    close_output(&f);
    char path[256];
    snprintf(path, sizeof(path), "%s/a.e", folder);
    assert_true(plat_file_replace(path, span_text("theirs"), NULL));
    open_again(&f, "{path: '%s/{provider.name}.e', rotate: {age: 1ms}}", buf_span(&f.stored));
    while (!is_there("b.e.1")) {
        output_file.idle(f.self); /* until it is a millisecond old */
    }
    assert_content("a.e", "theirs");
    fini(&f);
}

static void more_files_than_may_be_open_are_written_to(void **state)
{
    (void)state;
    enum { FILES = FILE_SET_MAX_OPEN * 3 };
    struct fixture f;
    char lines[FILES * 5 + 1] = "";
    char names[FILES][8];
    const char *routes[FILES];
    for (size_t i = 0; i < FILES; i++) {
        snprintf(lines + i * 5, 6, "%04zu\n", i);
        snprintf(names[i], sizeof(names[i]), "%zu.e", i);
        routes[i] = names[i];
    }
    open_output(&f, "{path: '%s/{provider.name}.e'}");
    assert_int_equal(send_lines(&f, lines, routes), OUTPUT_DELIVERED);
    assert_int_equal(f.saves, 1);
    assert_int_equal(send_lines(&f, lines, routes), OUTPUT_DELIVERED);
    assert_int_equal(f.saves, 1);
    fini(&f);
    assert_int_equal(files_in_folder(), FILES);
    assert_content("0.e", "0000\n0000\n");
    assert_content("191.e", "0191\n0191\n");
}

static void two_paths_to_one_file_are_one_file(void **state)
{
    (void)state;
    struct fixture f;
    char path[256];
    static const char *const routes[] = {"a/x.e", "b/x.e", "a/x.e"};
    open_output(&f, "{path: '%s/{provider.name}/x.e', rotate: {size: 6}}");
    snprintf(path, sizeof(path), "%s/b", folder);
    if (!temp_file_link("a", path)) {
        fini(&f);
        skip();
    }
    assert_int_equal(send_lines(&f, "1\n2\n3\n", routes), OUTPUT_DELIVERED);
    assert_content("a/x.e", "1\n2\n3\n");
    assert_int_equal(send_lines(&f, "4\n5\n6\n", routes), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("a/x.e.1", "1\n2\n3\n");
    assert_content("a/x.e", "4\n5\n6\n");
}

static void of_very_many_files_the_last_used_are_remembered(void **state)
{
    (void)state;
    struct file_set set;
    struct error err;
    char path[256];
    file_set_init(&set, NULL, false);
    for (size_t i = 0; i < FILE_SET_MAX_KNOWN; i++) {
        snprintf(path, sizeof(path), "%zu", i);
        assert_non_null(file_set_get(&set, span_text(path), &err));
    }
    file_set_trim(&set);
    assert_int_equal(set.count, FILE_SET_MAX_KNOWN);
    file_set_get(&set, span_text("0"), &err);
    file_set_get(&set, span_text("more"), &err);
    file_set_trim(&set);
    assert_int_equal(set.count, FILE_SET_MAX_KNOWN / 2);
    assert_non_null(file_set_find(&set, span_text("0")));
    assert_non_null(file_set_find(&set, span_text("more")));
    assert_null(file_set_find(&set, span_text("1")));
    memset(path, 'x', sizeof(path));
    for (size_t i = 0; i < FILE_SET_MAX_PATHS_BYTES / sizeof(path); i++) {
        path[i % 200] = (char)('a' + i % 26);
        assert_non_null(file_set_get(&set, span_make(path, sizeof(path)), &err));
    }
    file_set_trim(&set);
    assert_true(set.count <= FILE_SET_MAX_PATHS_BYTES / 2 / sizeof(path));
    assert_non_null(file_set_find(&set, span_make(path, sizeof(path))));
    file_set_fini(&set);
}

static void a_checkpoint_cuts_only_its_own_files(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    const char *yaml = "{path: '%s/{provider.name}.e'}";
    static const char *const routes[] = {"a.e", "b.e"};
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n", routes), OUTPUT_DELIVERED);
    assert_true(store(&f, &err));
    assert_int_equal(send_lines(&f, "3\n4\n", routes), OUTPUT_DELIVERED);
    close_output(&f);
    struct buf checkpoint = f.stored;
    /* Cut at every byte it is damaged, and nothing is cut by it. */
    for (size_t size = 1; size < checkpoint.size; size++) {
        buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
        f.warned[0] = '\0';
        open_again(&f, yaml, span_make(checkpoint.data, size));
        close_output(&f);
        buf_fini(&f.stored);
        if (size < checkpoint.size - 2) { /* behind it: the list of chores, empty */
            assert_content("a.e", "1\n3\n");
        }
        assert_non_null(strstr(f.warned, "cannot be read"));
    }
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, "{path: '%s/other/{provider.name}.e'}", buf_span(&checkpoint));
    close_output(&f);
    open_again(&f, yaml, buf_span(&checkpoint));
    close_output(&f);
    assert_content("a.e", "1\n");
    assert_content("b.e", "2\n");
    /* A file that somebody put in its place is not ours to cut. */
    char path[256];
    char other[256];
    snprintf(path, sizeof(path), "%s/a.e", folder);
    snprintf(other, sizeof(other), "%s/x", folder);
    FILE *file = fopen(other, "wb");
    fputs("longer\n", file);
    fclose(file);
    assert_true(plat_path_rename(other, path, &err));
    open_again(&f, yaml, buf_span(&checkpoint));
    assert_content("a.e", "longer\n");
    close_output(&f);
    /* One that was cut by somebody is told of. */
    snprintf(path, sizeof(path), "%s/b.e", folder);
    assert_true(temp_file_cut(path, 1));
    open_again(&f, yaml, buf_span(&checkpoint));
    assert_non_null(strstr(f.warned, "shorter"));
    buf_fini(&checkpoint);
    fini(&f);
}

static int setup(void **state)
{
    (void)state;
    return temp_folder_make(folder, "rotate");
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_grows_beyond_its_size_even_within_a_batch),
        cmocka_unit_test(numbers_go_on_behind_those_that_are_there),
        cmocka_unit_test(the_highest_number_is_used_and_none_beyond_it),
        cmocka_unit_test(chores_are_stored_as_long_as_there_is_room),
        cmocka_unit_test(rotated_files_are_compressed_in_the_end),
        cmocka_unit_test(it_says_when_there_is_more_to_do),
        cmocka_unit_test(nothing_is_made_for_good_before_the_checkpoint_is_stored),
        cmocka_unit_test(what_a_run_before_left_is_compressed_by_the_next),
        cmocka_unit_test(a_run_without_events_completes_what_was_left),
        cmocka_unit_test(only_the_newest_are_kept),
        cmocka_unit_test(each_family_keeps_its_own_over_all_times),
        cmocka_unit_test(an_old_file_is_set_aside_without_an_event),
        cmocka_unit_test(an_old_file_that_is_not_known_is_left_alone),
        cmocka_unit_test(more_files_than_may_be_open_are_written_to),
        cmocka_unit_test(two_paths_to_one_file_are_one_file),
        cmocka_unit_test(of_very_many_files_the_last_used_are_remembered),
        cmocka_unit_test(a_checkpoint_cuts_only_its_own_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
