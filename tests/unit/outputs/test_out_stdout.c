#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "config/config.h"
#include "outputs/outputs.h"

static bool is_memory_out;

void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    return is_memory_out ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return is_memory_out ? NULL : __real_realloc(memory, size);
}

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

/* An output that is created while file descriptor 1 is ${fd}. */
static void *open_output(struct config *config, int fd, const struct output_env *env)
{
    struct error err;
    fflush(stdout);
    int kept = dup(1);
    assert_int_equal(dup2(fd, 1), 1);
    void *self = output_stdout.create(make(config, NULL), env, &err);
    bool connected = self && output_stdout.connect(self, &err);
    dup2(kept, 1);
    close(kept);
    assert_true(connected);
    return self;
}

static const struct output_env alone = {.name = "test"};

static enum output_verdict send_text(
    void *self, const char *text, enum record_status *records, struct error *err)
{
    uint32_t ends[8];
    size_t count = 0;
    for (uint32_t i = 0; text[i]; i++) {
        if (text[i] == '\n') {
            ends[count++] = i + 1;
        }
    }
    struct output_report report = {.records = records};
    const struct delivery delivery = {
        .bytes = span_text(text), .record_ends = ends, .record_count = count};
    enum output_verdict verdict = output_stdout.send(self, &delivery, &report);
    *err = report.error;
    return verdict;
}

static void a_closed_pipe_ends_the_output(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct config *config = config_create(NULL, NULL);
    void *early = open_output(config, ends[1], &alone);
    close(ends[0]);
    void *late = open_output(config, ends[1], &alone);
    struct error err;
    assert_int_equal(send_text(early, "{}\n", NULL, &err), OUTPUT_FATAL);
    assert_int_equal(err.code, ERR_STOPPED);
    assert_int_equal(send_text(late, "{}\n", NULL, &err), OUTPUT_FATAL);
    assert_int_equal(err.code, ERR_STOPPED);
    output_stdout.destroy(early);
    output_stdout.destroy(late);
    config_destroy(config);
    close(ends[1]);
}

static void a_full_disk_is_tried_again(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) {
        skip();
    }
    struct config *config = config_create(NULL, NULL);
    void *self = open_output(config, full, &alone);
    struct error err;
    assert_int_equal(send_text(self, "{}\n", NULL, &err), OUTPUT_RETRY);
    assert_int_equal(err.os_code, ENOSPC);
    output_stdout.destroy(self);
    config_destroy(config);
    close(full);
}

static bool stop_at_once(void *host)
{
    (*(int *)host)++;
    return true;
}

/* Read the bytes that are there; returns their number. */
static size_t drain(int fd, char *out, size_t size)
{
    size_t got = 0;
    ssize_t n = 1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (n > 0 && got < size) {
        n = read(fd, out + got, size - got);
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

enum { LONG = 100000 };

/* Between two short records, two that no pipe or terminal takes at once. */
static char *long_text(void)
{
    char *text = malloc(2 * LONG + 8);
    assert_non_null(text);
    memset(text, 'x', 2 * LONG + 7);
    memcpy(text, "{}\n", 3);
    text[LONG] = '\n';
    text[2 * LONG] = '\n';
    memcpy(text + 2 * LONG + 1, "last\n", 6);
    return text;
}

static void assert_nothing_is_lost_or_torn_if(int writing, int reading, bool memory_is_short)
{
    enum { WANT = 2 * LONG + 6 };
    int asked = 0;
    const struct output_env env = {.name = "test", .stopping = stop_at_once, .host = &asked};
    struct config *config = config_create(NULL, NULL);
    void *self = open_output(config, writing, &env);
    char *text = long_text();
    char *got = malloc(WANT + 100);
    size_t size = 0;
    size_t at = 0;      /* of the bytes still to be sent */
    size_t refused = 0; /* sends, for lack of memory */
    bool seen[2] = {false};
    for (int tries = 0; at < WANT; tries++) {
        enum record_status records[8] = {RECORD_RETRY};
        struct error err;
        is_memory_out = memory_is_short && tries % 2 == 0;
        enum output_verdict verdict = send_text(self, text + at, records, &err);
        is_memory_out = false;
        refused += verdict == OUTPUT_RETRY && err.code == ERR_MEMORY;
        seen[verdict == OUTPUT_MIXED] = true;
        assert_true(
            verdict == OUTPUT_DELIVERED || verdict == OUTPUT_MIXED || verdict == OUTPUT_RETRY);
        for (size_t i = 0;
             at < WANT && (verdict == OUTPUT_DELIVERED ||
                              (verdict == OUTPUT_MIXED && records[i] == RECORD_DELIVERED));
             i++) {
            at = (size_t)(strchr(text + at, '\n') - text) + 1;
        }
        size += drain(reading, got + size, WANT + 100 - size);
        assert_true(tries < 1000);
    }
    size += drain(reading, got + size, WANT + 100 - size);
    assert_int_equal(size, WANT);
    assert_memory_equal(got, text, WANT);
    assert_true(seen[1] && asked > 0 && (refused > 0) == memory_is_short);
    output_stdout.destroy(self);
    config_destroy(config);
    free(text);
    free(got);
}

static void assert_nothing_is_lost_or_torn(int writing, int reading)
{
    assert_nothing_is_lost_or_torn_if(writing, reading, false);
}

static void a_pipe_without_a_reader_does_not_delay_a_stop(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_nothing_is_lost_or_torn(ends[1], ends[0]);
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    close(ends[0]);
    close(ends[1]);
}

static void a_socket_without_a_reader_does_neither(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_nothing_is_lost_or_torn(ends[1], ends[0]);
    close(ends[0]);
    close(ends[1]);
}

static void a_stopped_terminal_does_neither(void **state)
{
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        print_message("skipped: there are no terminals here\n");
        skip();
    }
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    struct termios raw;
    tcgetattr(slave, &raw);
    raw.c_oflag &= ~(tcflag_t)OPOST; /* bytes as they are */
    tcsetattr(slave, TCSANOW, &raw);
    assert_nothing_is_lost_or_torn(slave, master);
    close(slave);
    close(master);
}

static void a_lack_of_memory_tears_no_line(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_nothing_is_lost_or_torn_if(ends[1], ends[0], true);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_style_picks_the_format_of_the_events),
        cmocka_unit_test(a_closed_pipe_ends_the_output),
        cmocka_unit_test(a_full_disk_is_tried_again),
        cmocka_unit_test(a_pipe_without_a_reader_does_not_delay_a_stop),
        cmocka_unit_test(a_socket_without_a_reader_does_neither),
        cmocka_unit_test(a_stopped_terminal_does_neither),
        cmocka_unit_test(a_lack_of_memory_tears_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
