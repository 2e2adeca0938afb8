#define _GNU_SOURCE

#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "config/config.h"
#include "config/config_report.h"
#include "outputs/output.h"
#include "platform/plat_file.h"

static const char path[] = "out_file.tmp";

struct fixture {
    struct config *config;
    struct config_report report;
    void *settings;
};

static void parse(struct fixture *f, const char *yaml)
{
    config_report_init(&f->report);
    f->config = config_create(NULL, NULL);
    f->settings = config_parse(f->config, span_text(yaml), "f.yaml", output_file.fields,
        output_file.settings_size, &f->report);
}

static void *open_output(struct fixture *f, const char *yaml)
{
    struct error err;
    parse(f, yaml);
    assert_true(config_report_ok(&f->report));
    assert_true(output_file.check(f->settings, &err));
    return output_file.create(f->settings, &(struct output_env){.name = "test"}, &err);
}

static void fini(struct fixture *f)
{
    config_report_fini(&f->report);
    config_destroy(f->config);
}

static enum output_verdict send_text(void *self, const char *text, struct error *err)
{
    uint32_t end = (uint32_t)strlen(text);
    struct output_report report = {.records = NULL};
    const struct delivery delivery = {
        .bytes = span_text(text), .record_ends = &end, .record_count = 1};
    enum output_verdict verdict = output_file.send(self, &delivery, &report);
    *err = report.error;
    return verdict;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    fclose(file);
}

static void assert_file(const char *expected)
{
    struct error err;
    char *data = NULL;
    size_t size = 0;
    assert_true(plat_file_load(path, 1 << 20, &data, &size, &err));
    assert_string_equal(data, expected);
    free(data);
}

/* Files may grow to ${bytes}: a write beyond is cut short, the next one fails (setrlimit(2)). */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
}

static void what_cannot_be_written_whole_leaves_no_part(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    write_file("old\n");
    void *self = open_output(&f, "{path: out_file.tmp}");
    assert_true(output_file.connect(self, &err));
    limit_files(10);
    assert_int_equal(send_text(self, "new\n", &err), OUTPUT_DELIVERED);
    assert_int_equal(send_text(self, "too long\n", &err), OUTPUT_RETRY);
    limit_files(RLIM_INFINITY);
    assert_int_equal(err.code, ERR_IO);
    assert_file("old\nnew\n");
    assert_int_equal(send_text(self, "too long\n", &err), OUTPUT_DELIVERED);
    output_file.destroy(self);
    assert_file("old\nnew\ntoo long\n");
    fini(&f);
    remove(path);
}

static void a_line_left_unfinished_by_somebody_else_is_closed(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *after;
    } cases[] = {
        {"", "{}\n"}, {"{\"a\":", "{\"a\":\n{}\n"}, {"{}\n", "{}\n{}\n"}, {"\n", "\n{}\n"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct error err;
        write_file(cases[i].before);
        void *self = open_output(&f, "{path: out_file.tmp, fsync: 1ms}");
        assert_true(output_file.connect(self, &err));
        assert_int_equal(send_text(self, "{}\n", &err), OUTPUT_DELIVERED);
        output_file.destroy(self);
        assert_file(cases[i].after);
        fini(&f);
    }
    remove(path);
}

static void a_full_device_is_tried_again(void **state)
{
    (void)state;
    if (plat_path_kind("/dev/full") == PLAT_PATH_NONE) {
        skip();
    }
    struct fixture f;
    struct error err;
    void *self = open_output(&f, "{path: /dev/full}");
    assert_true(output_file.connect(self, &err));
    assert_int_equal(send_text(self, "{}\n", &err), OUTPUT_RETRY);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(send_text(self, "{}\n", &err), OUTPUT_RETRY);
    assert_int_equal(err.code, ERR_IO);
    output_file.destroy(self);
    fini(&f);
}

static void a_path_that_cannot_be_opened_fails_at_connect(void **state)
{
    (void)state;
    static const char *const settings[] = {"{path: .}", "{path: out_file.tmp/below/x}"};
    write_file("");
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct error err = {0};
        void *self = open_output(&f, settings[i]);
        assert_false(output_file.connect(self, &err));
        assert_int_not_equal(err.text[0], 0);
        output_file.destroy(self);
        fini(&f);
    }
    remove(path);
}

static void settings_that_cannot_work_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *error;
    } cases[] = {
        {"{}", "f.yaml:1:1: error: the key 'path' is missing. add it: the file to append to; "
               "missing folders are made"},
        {"{path: x, fsync: 5}", "f.yaml:1:18: error: fsync: '5' is no duration. write whole "
                                "numbers with units (ms s m h d), as in 30s or 1h30m"},
        {"{path: x, rotate: {}}", "f.yaml:1:11: error: unknown key 'rotate'. known here: path, "
                                  "fsync"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        parse(&f, cases[i].yaml);
        assert_int_equal(f.report.error_count, 1);
        assert_string_equal(f.report.lines[0].text, cases[i].error);
        fini(&f);
    }
    static const char *const templates[] = {
        "{path: etw-%Y.ndjson}", "{path: '{etw.session}.ndjson'}"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct error err;
        parse(&f, templates[i]);
        assert_true(config_report_ok(&f.report));
        assert_false(output_file.check(f.settings, &err));
        assert_string_equal(
            err.text, "path: path templates are not in this build. write a path without % and {");
        fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_written_whole_leaves_no_part),
        cmocka_unit_test(a_line_left_unfinished_by_somebody_else_is_closed),
        cmocka_unit_test(a_full_device_is_tried_again),
        cmocka_unit_test(a_path_that_cannot_be_opened_fails_at_connect),
        cmocka_unit_test(settings_that_cannot_work_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
