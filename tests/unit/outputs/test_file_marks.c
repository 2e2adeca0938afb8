#include "outputs/file/file_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/outputs.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * Things in the folder that are not the output's: planted links, and files with names like those of
 * rotated ones. All tests go through the output itself.
 */
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

/* ${yaml} has a %s for the folder. ${checkpoint}: of a previous output. */
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

static bool is_there(const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return temp_file_is_there(path);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char path[2 * TEMP_FOLDER_BYTES + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void plant_link(const char *target, const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!temp_file_link(target, path)) {
        skip();
    }
}

static void take_away(const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_true(plat_path_remove(path, NULL));
}

/* ---- links ----------------------------------------------------------------------------------- */

static void a_planted_link_is_not_appended_to(void **state)
{
    (void)state;
    static const char *const routes[] = {"x/e.ndjson"};
    struct fixture f = {.connects_late = true};
    struct error err = {0};
    open_output(&f, "{path: '%s/e.ndjson'}");
    output_file.disconnect(f.self);
    take_away("e.ndjson");
    put("victim", "precious\n");
    plant_link("victim", "e.ndjson");
    assert_false(output_file.connect(f.self, &err));
    assert_non_null(strstr(err.text, "is a link"));
    assert_content("victim", "precious\n");
    take_away("e.ndjson");
    assert_true(output_file.connect(f.self, &err));
    assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.ndjson", "1\n");
    fini(&f);
    /* That is also true of one of many files, once events come for it. */
    open_output(&f, "{path: '%s/{provider.name}/e.ndjson'}");
    char path[256];
    snprintf(path, sizeof(path), "%s/x", folder);
    assert_true(plat_dir_create(path, NULL));
    put("victim", "precious\n");
    plant_link("../victim", "x/e.ndjson");
    assert_int_equal(send_lines(&f, "1\n", routes), OUTPUT_RETRY);
    assert_content("victim", "precious\n");
    fini(&f);
}

static void a_planted_link_is_not_compressed_into(void **state)
{
    (void)state;
    static const char *const names[] = {"e.1.gz.tmp", "e.1.gz"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        open_output(&f, "{path: '%s/e', rotate: {size: 2, gzip: true}}");
        put("victim", "precious\n");
        assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
        plant_link("victim", names[0]);
        f.refuses = true; /* so that it is not compressed before the second link is there */
        assert_int_equal(send_lines(&f, "2\n", NULL), OUTPUT_DELIVERED);
        assert_content("e.1", "1\n");
        if (i == 1) {
            take_away(names[0]);
            plant_link("victim", names[1]);
        }
        f.refuses = false;
        output_file.idle(f.self);
        assert_non_null(strstr(f.warned, names[i]));
        assert_content("victim", "precious\n");
        assert_content("e.1", "1\n");
        /* Later files are compressed all the same. */
        assert_int_equal(send_lines(&f, "3\n", NULL), OUTPUT_DELIVERED);
        output_file.idle(f.self);
        assert_content("e.2.gz", "2\n");
        assert_false(is_there("e.2"));
        fini(&f);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static void a_planted_file_is_not_taken_for_the_compressed_one(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, gzip: true}}");
    assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
    f.refuses = true;
    assert_int_equal(send_lines(&f, "2\n", NULL), OUTPUT_DELIVERED);
    put("e.1.gz", "planted\n");
    f.refuses = false;
    output_file.idle(f.self);
    assert_content("e.1", "1\n");
    assert_content("e.1.gz", "planted\n");
    assert_non_null(strstr(f.warned, "e.1.gz: belongs to another program"));
    fini(&f);
    assert_content("e.1", "1\n");
}

static void files_of_others_are_not_counted_and_not_removed(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/{provider.name}/%%Y.e', rotate: {size: 2, keep: 1}}");
    static const char *const routes[] = {"a/2026.e", "a/2026.e", "a/2026.e", "a/2026.e"};
    static const char *const others[] = {"a/2026.e.1", "a/2026.e.2.gz", "a/2025.e", "a/2024.e.5"};
    char path[256];
    snprintf(path, sizeof(path), "%s/a", folder);
    assert_true(plat_dir_create(path, NULL));
    for (size_t i = 0; i < 4; i++) {
        put(others[i], "theirs\n");
    }
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n", routes), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    for (size_t i = 0; i < 4; i++) {
        assert_content(others[i], "theirs\n");
    }
    assert_content("a/2026.e.5", "3\n"); /* of our files only the newest */
    assert_false(is_there("a/2026.e.3"));
    assert_false(is_there("a/2026.e.4"));
    /* Nor is a file that took the place of ours. */
    take_away("a/2026.e.5");
    put("a/2026.e.5", "theirs\n");
    assert_int_equal(send_lines(&f, "5\n6\n", routes), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_content("a/2026.e.5", "theirs\n");
    assert_content("a/2026.e.7", "5\n");
    assert_false(is_there("a/2026.e.6"));
    fini(&f);
}

static void no_name_is_taken_from_another_file(void **state)
{
    (void)state;
    static const char *const others[] = {"e.999999999999", "e.999999999999999999",
        "e.1000000000000000000", "e.18446744073709551615", "e.1", "e.3.gz"};
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2}}");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        put(others[i], "theirs\n");
    }
    plant_link("nowhere", "e.2");
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_content(others[i], "theirs\n");
    }
    assert_content("e.4", "1\n");
    assert_content("e.5", "2\n");
    assert_content("e", "3\n");
    fini(&f);
}

/* ---- over restarts --------------------------------------------------------------------------- */

static void ours_are_known_after_a_restart_without_a_checkpoint(void **state)
{
    (void)state;
    struct fixture f;
    const char *yaml = "{path: '%s/e', rotate: {size: 2, keep: 2}}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
    f.refuses = true;
    assert_int_equal(send_lines(&f, "2\n3\n4\n", NULL), OUTPUT_DELIVERED);
    close_output(&f);
    put("e.9", "theirs\n");
    f.refuses = false;
    open_again(&f, yaml, span_make(NULL, 0));
    assert_int_equal(send_lines(&f, "5\n6\n", NULL), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_content("e.9", "theirs\n");
    assert_content("e.10", "4\n");
    assert_content("e.11", "5\n");
    assert_false(is_there("e.1") || is_there("e.2") || is_there("e.3"));
    fini(&f);
}

/* A batch is taken back although another program's file has the name of the file that was begun. */
static void a_file_of_another_program_at_our_path_is_not_removed(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    const char *yaml = "{path: '%s/e', rotate: {size: 4}}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
    assert_true(store(&f, &err));
    assert_int_equal(send_lines(&f, "2\n3\n4\n5\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.1", "1\n2\n");
    assert_content("e.2", "3\n4\n");
    close_output(&f);
    take_away("e");
    put("e", "theirs\n");
    put("e.7", "theirs\n");
    struct buf checkpoint = f.stored;
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, yaml, buf_span(&checkpoint));
    buf_fini(&checkpoint);
    assert_content("e", "theirs\n");
    assert_content("e.7", "theirs\n");
    assert_content("e.1", "1\n"); /* events after the checkpoint are gone */
    assert_false(is_there("e.2"));
    fini(&f);
}

/* If other users may have written the marks, these could have any file of the folder removed. */
static void marks_that_others_may_write_are_not_believed(void **state)
{
    (void)state;
    char path[2 * TEMP_FOLDER_BYTES + 256];
    struct file_marks marks;
    struct error err = {0};
    struct plat_file_id id;
    temp_folder_remove(folder);
    assert_true(plat_dir_create(folder, NULL));
    put("e.1", "x");
    snprintf(path, sizeof(path), "%s/e.1", folder);
    assert_true(plat_file_id_at(path, &id));
    file_marks_init(&marks, 10, false);
    assert_true(file_marks_load(&marks, folder, "x-", "t", &err));
    assert_true(file_marks_add(&marks, span_text(path), strlen(path) - 2, &id, &err));
    char note[256];
    snprintf(note, sizeof(note), "%s", marks.path);
    file_marks_fini(&marks);
    for (int shared = 0; shared < 2; shared++) {
        assert_true(!shared || chmod(note, 0666) == 0);
        file_marks_init(&marks, 10, false);
        assert_true(file_marks_load(&marks, folder, "x-", "t", &err));
        assert_int_equal(file_marks_has_at(&marks, path, strlen(path) - 2), !shared);
        assert_int_equal(
            file_marks_add(&marks, span_text(path), strlen(path) - 1, &id, &err), !shared);
        file_marks_fini(&marks);
    }
    assert_non_null(strstr(err.text, "others can write it, so"));
}

static void lines_that_make_no_sense_are_left_out(void **state)
{
    (void)state;
    struct file_marks marks;
    struct error err = {0};
    char path[256];
    temp_folder_remove(folder);
    assert_true(plat_dir_create(folder, NULL));
    file_marks_init(&marks, 10, false);
    assert_true(file_marks_load(&marks, folder, "x-", "t", &err));
    snprintf(path, sizeof(path), "%s", strrchr(marks.path, '/') + 1);
    file_marks_fini(&marks);
    static const char *const texts[] = {"", "etw", "etwship marks 1\n", "etwship marks 1\n\n",
        "etwship marks 2\n1 2 3 abc\n", "etwship marks 1\n1 2 3", "etwship marks 1\n1 2 0 a\n",
        "etwship marks 1\n1 2 5 abcd\n", "etwship marks 1\n11111111111111111 2 3 abcd\n",
        "etwship marks 1\n-1 x 3 abcd\n1 2 4 gone\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        put(path, texts[i]);
        file_marks_init(&marks, 10, false);
        assert_true(file_marks_load(&marks, folder, "x-", "t", &err));
        assert_int_equal(marks.count, 0);
        /* A mark that is added then is found again. */
        struct plat_file_id id;
        char file[256];
        put("e", "x");
        snprintf(file, sizeof(file), "%s/e", folder);
        assert_true(plat_file_id_at(file, &id));
        assert_true(file_marks_add(&marks, span_text(file), strlen(file), &id, &err));
        file_marks_fini(&marks);
        file_marks_init(&marks, 10, false);
        assert_true(file_marks_load(&marks, folder, "x-", "t", &err));
        assert_true(file_marks_has_at(&marks, file, strlen(file)));
        file_marks_fini(&marks);
    }
}

static void only_so_many_are_remembered_the_last_ones(void **state)
{
    (void)state;
    enum { ALL = 5000, MOST = 50 };
    struct file_marks marks;
    struct error err = {0};
    char name[256];
    struct plat_file_id id = {.file = 1};
    uint64_t bytes = 0;
    bool there;
    temp_folder_remove(folder);
    assert_true(plat_dir_create(folder, NULL));
    file_marks_init(&marks, MOST, false);
    assert_true(file_marks_load(&marks, folder, "x-", "t", &err));
    for (int i = 0; i < ALL; i++) {
        snprintf(name, sizeof(name), "e.%d", i + 1);
        assert_true(file_marks_add(&marks, span_text(name), 1, &id, &err));
        assert_true(file_marks_has(&marks, span_text(name), 1, &id));
    }
    assert_true(marks.count < ALL / 2 && marks.count >= MOST);
    assert_false(file_marks_has(&marks, span_text("e.1"), 1, &id));
    assert_true(plat_path_find(marks.path, &there, &bytes, &err));
    assert_true(there && bytes < ALL / 2 * 16);
    file_marks_fini(&marks);
}

static int setup(void **state)
{
    (void)state;
    return temp_folder_make(folder, "marks");
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planted_link_is_not_appended_to),
        cmocka_unit_test(a_planted_link_is_not_compressed_into),
        cmocka_unit_test(a_planted_file_is_not_taken_for_the_compressed_one),
        cmocka_unit_test(files_of_others_are_not_counted_and_not_removed),
        cmocka_unit_test(no_name_is_taken_from_another_file),
        cmocka_unit_test(ours_are_known_after_a_restart_without_a_checkpoint),
        cmocka_unit_test(a_file_of_another_program_at_our_path_is_not_removed),
        cmocka_unit_test(marks_that_others_may_write_are_not_believed),
        cmocka_unit_test(lines_that_make_no_sense_are_left_out),
        cmocka_unit_test(only_so_many_are_remembered_the_last_ones),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
