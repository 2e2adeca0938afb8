#include "outputs/file/file_bound.h"

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

/* How many files events can make. Through the output itself. */
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

/* ---- tests --------------------------------------------------------------------------------------- */

static void events_for_too_many_files_go_to_one(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const first[] = {"a.e", "b.e", "c.e", "d.e", "a.e"};
    static const char *const second[] = {"d.e", "b.e", "overflow.e", "e.e"};
    open_output(&f, "{path: '%s/{provider.name}.e', max_files: 2}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n", first), OUTPUT_DELIVERED);
    assert_string_equal(f.warned,
        "max_files: 2 files are there, and events ask for more: they go to the one that is called "
        "overflow");
    f.warned[0] = 0;
    assert_int_equal(send_lines(&f, "6\n7\n8\n9\n", second), OUTPUT_DELIVERED);
    assert_int_not_equal(f.warned[0], 0);
    fini(&f);
    assert_content("a.e", "1\n5\n");
    assert_content("b.e", "2\n7\n");
    assert_content("overflow.e", "3\n4\n6\n8\n9\n");
    assert_int_equal(files_in_folder(), 3);
}

static void files_of_other_times_count_once(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const routes[] = {"2025/a-01.e", "2025/a-02.e", "2026/a-01.e", "2026/b-03.e",
        "2026/c-07.e", "2027/c-08.e", "2028/a-01.e"};
    open_output(&f, "{path: '%s/%%Y/{provider.name}-%%m.e', max_files: 2, rotate: {size: 2}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n6\n7\n", routes), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("2028/a-01.e", "7\n");
    assert_content("2026/b-03.e", "4\n");
    assert_content("2026/overflow-07.e", "5\n");
    assert_content("2027/overflow-08.e", "6\n");
    assert_int_equal(files_in_folder(), 7);
}

static void the_file_for_what_is_too_much_does_not_count_at_the_start(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const before[] = {"a.e", "z.e", "q.e"};
    static const char *const after[] = {"z.e", "q.e"};
    const char *yaml = "{path: '%s/{provider.name}.e', max_files: 2}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n3\n", before), OUTPUT_DELIVERED);
    close_output(&f);
    open_again(&f, yaml, span_make(NULL, 0));
    assert_int_equal(send_lines(&f, "4\n5\n", after), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("z.e", "2\n4\n");
    assert_content("overflow.e", "3\n5\n");
}

static void a_folder_that_is_still_to_be_made_is_no_reason_to_warn(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const routes[] = {"new/a.e"};
    open_output(&f, "{path: '%s/new/{provider.name}.e'}");
    assert_int_equal(send_lines(&f, "1\n", routes), OUTPUT_DELIVERED);
    assert_string_equal(f.warned, "");
    fini(&f);
    assert_content("new/a.e", "1\n");
}

#ifndef _WIN32
static void what_is_there_at_the_start_counts(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const before[] = {"x/a.e", "y/b.e", "x/b.e"};
    static const char *const after[] = {"z/a.e", "y/b.e", "x/a.e"};
    const char *yaml = "{path: '%s/{provider.name}/{etw.session}.e', max_files: 3}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n3\n", before), OUTPUT_DELIVERED);
    assert_int_equal(f.warned[0], 0);
    close_output(&f);
    open_again(&f, yaml, span_make(NULL, 0));
    assert_int_equal(send_lines(&f, "4\n5\n6\n", after), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("overflow/overflow.e", "4\n");
    assert_content("y/b.e", "2\n5\n");
    assert_content("x/a.e", "1\n6\n");
    assert_int_equal(files_in_folder(), 4);
}
#endif

static void a_flood_of_names_makes_no_flood_of_files(void **state)
{
    (void)state;
    enum { NAMES = 200, MOST = 50, ROUNDS = 20 };
    struct fixture f;
    static char names[NAMES][32];
    const char *routes[NAMES];
    char lines[NAMES * 2 + 1];
    for (size_t i = 0; i < NAMES; i++) {
        memcpy(lines + i * 2, "x\n", 3);
        routes[i] = names[i];
    }
    open_output(&f, "{path: '%s/{provider.name}.e', max_files: 50}");
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < NAMES; i++) {
            snprintf(names[i], sizeof(names[i]), "%u.e", round * NAMES + i);
        }
        assert_int_equal(send_lines(&f, lines, routes), OUTPUT_DELIVERED);
    }
    fini(&f);
    assert_int_equal(files_in_folder(), MOST + 1);
    char path[256];
    struct error err;
    snprintf(path, sizeof(path), "%s/overflow.e", folder);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, &err);
    uint64_t bytes = 0;
    assert_true(plat_file_size(file, &bytes, &err));
    plat_file_close(file);
    assert_int_equal(bytes, (NAMES * ROUNDS - MOST) * 2);
}

static int setup(void **state)
{
    (void)state;
    return temp_folder_make(folder, "bound");
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_for_too_many_files_go_to_one),
        cmocka_unit_test(files_of_other_times_count_once),
#ifndef _WIN32 /* the folder of the template is found there with other slashes */
        cmocka_unit_test(what_is_there_at_the_start_counts),
#endif
        cmocka_unit_test(the_file_for_what_is_too_much_does_not_count_at_the_start),
        cmocka_unit_test(a_folder_that_is_still_to_be_made_is_no_reason_to_warn),
        cmocka_unit_test(a_flood_of_names_makes_no_flood_of_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
