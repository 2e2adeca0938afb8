#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/outputs.h"
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
    assert_true(config_check_first(output_file.check, f->settings, &err));
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

static void assert_content(const char *file, const char *expected)
{
    struct error err;
    char *data = NULL;
    size_t size = 0;
    assert_true(plat_file_load(file, 1 << 20, &data, &size, &err));
    assert_string_equal(data, expected);
    free(data);
}

static void assert_file(const char *expected)
{
    assert_content(path, expected);
}

/* Files may grow to ${bytes}: the system cuts a write beyond that short, and the next one fails
 * (setrlimit(2)). */
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

static void a_line_left_unfinished_by_another_program_is_closed(void **state)
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
        {"{}",
            "f.yaml:1:1: error: the key 'path' is missing. add it: the file to append to; may hold "
            "%Y %m %d %H %M of the event (UTC) and {fields}; missing folders are made"},
        {"{path: x, fsync: 5}", "f.yaml:1:18: error: fsync: '5' is not a duration. write whole "
                                "numbers with units (ms s m h d), as in 30s or 1h30m"},
        {"{path: x, rotate: {sise: 1}}",
            "f.yaml:1:20: error: unknown key 'sise'. did you mean 'size'?"},
        {"{path: x, rotate: {keep: -1}}", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        parse(&f, cases[i].yaml);
        assert_int_equal(f.report.error_count, 1);
        if (cases[i].error) {
            assert_string_equal(f.report.lines[0].text, cases[i].error);
        }
        fini(&f);
    }
    static const struct {
        const char *yaml;
        const char *error;
    } checks[] = {
        {"{path: 'a/'}", "path: names a folder. write the name of a file"},
        {"{path: 'a*'}", "path: * and ? are not allowed in it. write {field}"},
        {"{path: 'x%q'}", "path: not a part of the time. write one of %Y %m %d %H %M, or "
                          "%% for a percent sign"},
        {"{path: 'x-{provider.nam}'}", NULL},
        {"{path: 'co/{provider.name}', rotate: {size: 1MB, keep: 1}}",
            "path: a file could get the name of a rotated file of another one, as with {fields} at "
            "the end. end it with literal text, as in {provider.name}.ndjson"},
        {"{path: '{provider.name}.%Y', rotate: {age: 1d}}", NULL},
        {"{path: '{provider.name}%Y{etw.session}.e', rotate: {keep: 2}}",
            "path: with a time between two {fields} rotate.keep cannot find the old files. put the "
            "time first, last, or into a folder of its own"},
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct fixture f;
        struct error err = {0};
        parse(&f, checks[i].yaml);
        assert_true(config_report_ok(&f.report));
        assert_false(config_check_first(output_file.check, f.settings, &err));
        if (checks[i].error) {
            assert_string_equal(err.text, checks[i].error);
        }
        fini(&f);
    }
}

static void a_path_is_a_route_only_if_it_has_parts(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *route;
    } cases[] = {{"{path: a/b}", NULL}, {"{path: 'a/%Y'}", "a/%Y"}, {"{path: 'a{{'}", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct error err;
        parse(&f, cases[i].yaml);
        assert_true(config_check_first(output_file.check, f.settings, &err));
        const char *route = output_file.route(f.settings);
        assert_int_equal(route != NULL, cases[i].route != NULL);
        if (route) {
            assert_string_equal(route, cases[i].route);
            assert_string_equal(output_file.target(f.settings), cases[i].route);
        }
        fini(&f);
    }
}

static void two_outputs_cannot_write_to_one_file(void **state)
{
    (void)state;
    struct fixture first;
    struct fixture second;
    struct error err = {0};
    void *one = open_output(&first, "{path: out_file.tmp}");
    void *two = open_output(&second, "{path: ./out_file.tmp}");
    assert_true(output_file.connect(one, &err));
    assert_false(output_file.connect(two, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_non_null(strstr(err.text, "out_file.tmp: another program is writing to it"));
    output_file.disconnect(one);
    assert_true(output_file.connect(two, &err));
    assert_int_equal(send_text(two, "{}\n", &err), OUTPUT_DELIVERED);
    output_file.destroy(one);
    output_file.destroy(two);
    assert_file("{}\n");
    fini(&first);
    fini(&second);
    remove(path);
}

static void a_file_that_was_removed_moved_or_cut_is_begun_again(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    void *self = open_output(&f, "{path: out_file.tmp.d/a/out_file.tmp}");
    static const char nested[] = "out_file.tmp.d/a/out_file.tmp";
    assert_true(output_file.connect(self, &err));
    assert_int_equal(send_text(self, "1\n", &err), OUTPUT_DELIVERED);
    assert_int_equal(rename(nested, path), 0);
    assert_int_equal(remove("out_file.tmp.d/a"), 0);
    assert_int_equal(remove("out_file.tmp.d"), 0);
    assert_int_equal(send_text(self, "2\n", &err), OUTPUT_DELIVERED);
    assert_file("1\n");
    assert_int_equal(rename(nested, path), 0);
    assert_int_equal(send_text(self, "3\n", &err), OUTPUT_DELIVERED);
    assert_file("2\n");
    assert_int_equal(truncate(nested, 1), 0);
    assert_int_equal(send_text(self, "4\n", &err), OUTPUT_DELIVERED);
    output_file.destroy(self);
    assert_int_equal(rename(nested, path), 0);
    assert_file("3\n4\n");
    fini(&f);
    remove(path);
    remove("out_file.tmp.d/a");
    remove("out_file.tmp.d");
}

/* A folder without the right to write: nothing is lost, and the output continues when the right is
 * back. */
static void a_lost_right_is_waited_for(void **state)
{
    (void)state;
    static const char folder[] = "/tmp/out_file_rights";
    static const char file[] = "/tmp/out_file_rights/x";
    struct fixture f;
    struct error err;
    enum { OTHER_ACCOUNT = 65534 };
    bool root = geteuid() == 0; /* missing rights do not stop root */
    mkdir(folder, 0700);
    if (root && (chown(folder, OTHER_ACCOUNT, OTHER_ACCOUNT) != 0 || seteuid(OTHER_ACCOUNT) != 0)) {
        fail_msg("cannot become somebody else");
    }
    void *self = open_output(&f, "{path: /tmp/out_file_rights/x}");
    bool connected = output_file.connect(self, &err);
    remove(file);
    chmod(folder, 0500);
    enum output_verdict before = send_text(self, "1\n", &err);
    int os_code = (int)err.os_code;
    chmod(folder, 0700);
    enum output_verdict after = send_text(self, "1\n", &err);
    output_file.destroy(self);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_true(connected);
    assert_int_equal(before, OUTPUT_RETRY);
    assert_int_equal(os_code, EACCES);
    assert_int_equal(after, OUTPUT_DELIVERED);
    assert_content(file, "1\n");
    fini(&f);
    remove(file);
    remove(folder);
}

static void fill(const char *ballast, size_t bytes)
{
    FILE *file = fopen(ballast, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++) {
        fputc('x', file);
    }
    fclose(file);
}

/* The first byte of every line of 8 KB in PATH.1, PATH.2, … and PATH, in this order. */
static void first_letters(const char *base, char *out)
{
    for (int number = 1; number < 10; number++) {
        char name[64];
        snprintf(name, sizeof(name), "%s.%d", base, number);
        char *data = NULL;
        size_t size = 0;
        bool last = !plat_file_load(name, 1 << 20, &data, &size, NULL);
        if (last) {
            assert_true(plat_file_load(base, 1 << 20, &data, &size, NULL));
        }
        for (size_t at = 0; at < size; at += 8191) {
            *out++ = data[at];
            assert_int_equal(data[at + 8190], '\n');
        }
        free(data);
        *out = '\0';
        if (last) {
            return;
        }
    }
}

/* A small disk that only this process sees: it disappears with the process, however that ends. */
static bool mount_small_disk(const char *folder)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=80k") == 0;
}

static void a_full_disk_is_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    struct error err = {0};
    mkdir("out_file.mnt", 0700);
    if (!mount_small_disk("out_file.mnt")) {
        remove("out_file.mnt");
        print_message("skipped: cannot mount a small tmpfs here\n");
        skip();
    }
    fill("out_file.mnt/ballast", 40000);
    char line[8192];
    char letters[64] = "";
    memset(line, 'x', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    void *self = open_output(&f, "{path: out_file.mnt/x, rotate: {size: 20000}}");
    assert_true(output_file.connect(self, &err));
    int retries = 0;
    for (int i = 0; i < 7;) {
        line[0] = (char)('a' + i);
        if (send_text(self, line, &err) == OUTPUT_DELIVERED) {
            i++;
            continue;
        }
        assert_int_equal(err.os_code, ENOSPC);
        if (++retries == 3) {
            remove("out_file.mnt/ballast");
        }
        assert_true(retries < 10);
    }
    output_file.destroy(self);
    first_letters("out_file.mnt/x", letters);
    umount("out_file.mnt");
    remove("out_file.mnt");
    fini(&f);
    assert_int_equal(retries, 3);
    assert_string_equal(letters, "abcdefg");
}

/* Handles are short, because other parts of the process use them: the output closes files, and
 * fails none for that. */
static void files_are_written_to_with_few_handles_left(void **state)
{
    (void)state;
    enum { FILES = 40, LEFT = 6 };
    struct fixture f;
    struct error err = {0};
    struct rlimit limit;
    char text[FILES * 2 + 1];
    char names[FILES][64];
    uint32_t ends[FILES];
    uint32_t routes[FILES];
    struct span route_names[FILES];
    void *self = open_output(&f, "{path: 'out_file.tmp.d/{provider.name}.e'}");
    assert_true(output_file.connect(self, &err));
    for (uint32_t i = 0; i < FILES; i++) {
        snprintf(text + (size_t)2 * i, 3, "%c\n", 'A' + (int)i);
        snprintf(names[i], sizeof(names[i]), "out_file.tmp.d/%u.e", i);
        ends[i] = 2 * (i + 1);
        routes[i] = i;
        route_names[i] = span_text(names[i]);
    }
    const struct delivery delivery = {.bytes = span_text(text),
        .record_ends = ends,
        .record_count = FILES,
        .routes = routes,
        .route_names = route_names,
        .route_count = FILES};
    struct output_report report = {.records = NULL};
    int next = open("/dev/null", O_RDONLY);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit few = {.rlim_cur = (rlim_t)next + LEFT, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum output_verdict verdict = output_file.send(self, &delivery, &report);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(verdict, OUTPUT_DELIVERED);
    output_file.destroy(self);
    for (size_t i = 0; i < FILES; i++) {
        char line[3] = {(char)('A' + (int)i), '\n', 0};
        assert_content(names[i], line);
        remove(names[i]);
    }
    remove("out_file.tmp.d");
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_written_whole_leaves_no_part),
        cmocka_unit_test(a_line_left_unfinished_by_another_program_is_closed),
        cmocka_unit_test(a_full_device_is_tried_again),
        cmocka_unit_test(a_path_that_cannot_be_opened_fails_at_connect),
        cmocka_unit_test(settings_that_cannot_work_are_refused),
        cmocka_unit_test(a_path_is_a_route_only_if_it_has_parts),
        cmocka_unit_test(two_outputs_cannot_write_to_one_file),
        cmocka_unit_test(a_file_that_was_removed_moved_or_cut_is_begun_again),
        cmocka_unit_test(a_lost_right_is_waited_for),
        cmocka_unit_test(a_full_disk_is_waited_for),
        cmocka_unit_test(files_are_written_to_with_few_handles_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
