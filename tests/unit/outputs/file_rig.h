#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_FILE_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_FILE_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/outputs.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"

/* The output `file` over a folder of the test, and the files in it afterwards. */
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

static inline bool store(void *self, struct error *err)
{
    struct fixture *f = self;
    f->saves++;
    if (f->refuses) {
        return error_set(err, ERR_IO, "no");
    }
    buf_reset(&f->stored);
    return output_file.checkpoint(f->self, &f->stored, err);
}

static inline void warn(void *self, const char *text)
{
    snprintf(
        ((struct fixture *)self)->warned, sizeof(((struct fixture *)self)->warned), "%s", text);
}

/* ${yaml} has a %s for the folder. ${checkpoint}: of a previous output. */
static inline void open_again(struct fixture *f, const char *yaml, struct span checkpoint)
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

static inline void open_output(struct fixture *f, const char *yaml)
{
    *f = (struct fixture){.saves = 0};
    buf_init(&f->stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    temp_folder_remove(folder);
    assert_true(plat_dir_create(folder, NULL));
    open_again(f, yaml, span_make(NULL, 0));
}

static inline void close_output(struct fixture *f)
{
    output_file.destroy(f->self);
    config_destroy(f->config);
    f->self = NULL;
}

static inline void fini(struct fixture *f)
{
    close_output(f);
    buf_fini(&f->stored);
}

enum { MAX_LINES = 256 };

/* Send the lines of ${text}, each to ${routes}[i] below the folder (NULL: no routes). */
static inline enum output_verdict send_lines(
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

static inline void assert_content(const char *name, const char *expected)
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
static inline bool count_one(void *self, const char *path)
{
    (void)self;
    count_files += strstr(path, "/.etwship-") == NULL; /* the output's own list of its files */
    return true;
}

static inline size_t files_in_folder(void)
{
    char pattern[TEMP_FOLDER_BYTES + 16];
    snprintf(pattern, sizeof(pattern), "%s/**", folder);
    count_files = 0;
    plat_glob(pattern, count_one, NULL, NULL);
    return count_files;
}

static inline bool is_there(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return temp_file_is_there(path);
}

static inline int setup(void **state)
{
    (void)state;
    return temp_folder_make(folder, "file");
}

static inline int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

#endif
