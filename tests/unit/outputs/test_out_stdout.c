#define _GNU_SOURCE

#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "config/config.h"
#include "outputs/output.h"

static void *make(struct config *config, const char *style)
{
    struct error err;
    void *settings = config_new(config, output_stdout.fields, output_stdout.settings_size, &err);
    assert_non_null(settings);
    if (style) {
        assert_true(config_set(config, output_stdout.fields, settings, "style", &style, 1, &err));
    }
    return settings;
}

static void the_style_picks_the_format_of_the_events(void **state)
{
    (void)state;
    struct config *config = config_create(NULL, NULL);
    assert_null(output_stdout.format(make(config, NULL)));
    assert_null(output_stdout.format(make(config, "ndjson")));
    assert_string_equal(output_stdout.format(make(config, "pretty")), "pretty");
    config_destroy(config);
}

/* Send one record while file descriptor 1 is ${fd}. */
static enum output_verdict send_to(void *self, int fd, struct error *err)
{
    static const uint32_t end = 3;
    struct output_report report = {.records = NULL};
    const struct delivery delivery = {
        .bytes = span_text("{}\n"), .record_ends = &end, .record_count = 1};
    fflush(stdout);
    int kept = dup(1);
    dup2(fd, 1);
    enum output_verdict verdict = output_stdout.send(self, &delivery, &report);
    dup2(kept, 1);
    close(kept);
    *err = report.error;
    return verdict;
}

static void *open_output(struct config *config)
{
    struct error err;
    void *self = output_stdout.create(
        make(config, NULL), &(struct output_env){.name = "test"}, &err);
    assert_non_null(self);
    return self;
}

static void a_closed_pipe_ends_the_output(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    struct config *config = config_create(NULL, NULL);
    void *self = open_output(config);
    struct error err;
    enum output_verdict verdict = send_to(self, ends[1], &err);
    assert_int_equal(verdict, OUTPUT_FATAL);
    assert_int_equal(err.code, ERR_STOPPED);
    output_stdout.destroy(self);
    config_destroy(config);
    close(ends[1]);
}

static void after_a_failed_write_the_next_try_starts_a_new_line(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) {
        skip();
    }
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct config *config = config_create(NULL, NULL);
    void *self = open_output(config);
    struct error err;
    assert_int_equal(send_to(self, full, &err), OUTPUT_RETRY);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(send_to(self, ends[1], &err), OUTPUT_DELIVERED);
    assert_int_equal(send_to(self, ends[1], &err), OUTPUT_DELIVERED);
    char got[16] = "";
    assert_int_equal(read(ends[0], got, sizeof(got)), 7);
    assert_memory_equal(got, "\n{}\n{}\n", 7);
    output_stdout.destroy(self);
    config_destroy(config);
    close(full);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_style_picks_the_format_of_the_events),
        cmocka_unit_test(a_closed_pipe_ends_the_output),
        cmocka_unit_test(after_a_failed_write_the_next_try_starts_a_new_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
