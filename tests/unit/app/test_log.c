#include "app/log/log.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static uint64_t clock_ns;
static struct buf console;
static struct error err;

static const uint64_t second = 1000000000;

static uint64_t now_ns(void *self)
{
    (void)self;
    return clock_ns;
}

static void on_console(void *self, struct span line)
{
    (void)self;
    buf_add_span(&console, line);
}

static int setup(void **state)
{
    (void)state;
    buf_init(&console, 1 << 20);
    int result = temp_folder_make(folder, "log");
    snprintf(path, sizeof(path), "%s/agent.log", folder);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&console);
    return temp_folder_remove(folder);
}

static int clear(void **state)
{
    (void)state;
    buf_reset(&console);
    clock_ns = 1000 * second;
    for (int i = 0; i < 5; i++) {
        char name[sizeof(path) + 16];
        snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
        plat_path_remove(name, NULL);
    }
    return 0;
}

static struct log *make(struct log_settings settings)
{
    settings.now_ns = now_ns;
    settings.console = on_console;
    struct log *log = log_create(&settings, &err);
    assert_non_null(log);
    return log;
}

static struct log *make_console(void)
{
    return make((struct log_settings){.level = LOG_LEVEL_DEBUG});
}

/* The file's text without its times. */
static void assert_file(const char *name, const char *expected)
{
    char *text;
    size_t size;
    enum { TIME_BYTES = 29 }; /* 2026-11-21T09:30:00.1234567Z and a space */
    struct buf bare;
    buf_init(&bare, 1 << 20);
    assert_true(plat_file_load(name, 1 << 20, &text, &size, &err));
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(end - line > TIME_BYTES && line[TIME_BYTES - 2] == 'Z' && line[4] == '-');
        buf_add(&bare, line + TIME_BYTES, (size_t)(end - line) + 1 - TIME_BYTES);
        line = end + 1;
    }
    assert_span(buf_span(&bare), expected);
    buf_fini(&bare);
    free(text);
}

static void levels_beyond_the_settings_are_left_out(void **state)
{
    (void)state;
    struct log *log = make((struct log_settings){.level = LOG_LEVEL_WARNING});
    log_write(log, LOG_LEVEL_ERROR, NULL, "one %d", 1);
    log_write(log, LOG_LEVEL_WARNING, NULL, "two");
    log_write(log, LOG_LEVEL_INFO, NULL, "three");
    log_write(log, LOG_LEVEL_DEBUG, NULL, "four");
    log_destroy(log);
    assert_span(buf_span(&console), "etwship: error: one 1\netwship: warning: two\n");
    log_write(NULL, LOG_LEVEL_ERROR, NULL, "nobody");
    log_tick(NULL);
    log_reopen(NULL);
    log_destroy(NULL);
}

static void hear(void *self, enum log_level level, enum log_cause cause, const char *text)
{
    buf_printf(self, "%s %s", log_level_names[level], text);
    if (cause != LOG_CAUSE_OTHER) {
        buf_printf(self, " (%d)", cause);
    }
    buf_add_byte(self, '\n');
}

static void a_listener_gets_every_line_wherever_it_is_written(void **state)
{
    (void)state;
    struct buf heard;
    buf_init(&heard, 1 << 20);
    for (int to_file = 0; to_file < 2; to_file++) {
        struct log *log = make((struct log_settings){.level = LOG_LEVEL_WARNING,
            .path = to_file ? path : NULL,
            .also = hear,
            .also_self = &heard});
        log_write_as(log, 3, LOG_LEVEL_WARNING, "kind", "one");
        log_write_as(log, 3, LOG_LEVEL_WARNING, "kind", "two");
        log_write(log, LOG_LEVEL_INFO, NULL, "three");
        clock_ns += 60 * second;
        log_write(log, LOG_LEVEL_ERROR, NULL, "four");
        log_write_as(log, 2, LOG_LEVEL_ERROR, NULL, "%s", "five");
        log_destroy(log);
        /* Thinned lines keep their cause. */
        assert_span(buf_span(&heard), "warning one (3)\nwarning two (repeated 1 time in 60 s) (3)\n"
                                      "error four\nerror five (2)\n");
        buf_reset(&heard);
    }
    buf_fini(&heard);
}

static void one_call_is_one_line_whatever_the_text(void **state)
{
    (void)state;
    struct log *log = make_console();
    log_write(log, LOG_LEVEL_INFO, NULL, "a\nb\x1b[31m\xc2\x85 \xe2\x80\xa8 \xff \xc3\xa9");
    log_destroy(log);
    assert_span(buf_span(&console),
        "etwship: info: a\\nb\\u001b[31m\\u0085 \\u2028 \xef\xbf\xbd \xc3\xa9\n");
}

static void a_long_text_is_cut_on_a_character(void **state)
{
    (void)state;
    for (size_t lead = 0; lead < 3; lead++) {
        struct log *log = make_console();
        char text[2 * LOG_MAX_TEXT_BYTES] = "xxx";
        for (size_t i = lead; i + 3 < sizeof(text); i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 4);
        }
        log_write(log, LOG_LEVEL_INFO, NULL, "%s", text);
        log_destroy(log);
        size_t head = strlen("etwship: info: ");
        assert_true(console.size <= head + LOG_MAX_TEXT_BYTES && console.size > LOG_MAX_TEXT_BYTES);
        struct span line = span_from(buf_span(&console), head + lead);
        assert_int_equal(line.size % 3, 1); /* whole characters and the newline */
        assert_memory_equal(line.data + line.size - 4, "\xe2\x80\xa6\n", 4);
        assert_memory_equal(line.data + line.size - 7, "\xe2\x82\xac", 3);
        buf_reset(&console);
    }
}

static void json_lines_are_json(void **state)
{
    (void)state;
    struct log *log = make((struct log_settings){.format = LOG_FORMAT_JSON});
    log_write_as(log, LOG_CAUSE_OUTPUT, LOG_LEVEL_ERROR, NULL, "a \"b\"\n\x01\xff");
    log_destroy(log);
    struct span line = buf_span(&console);
    char end[32];
    snprintf(end, sizeof(end), "%llu}\n", (unsigned long long)temp_process_id());
    static const char head[] = "{\"@timestamp\":\"";
    static const char tail[] =
        "Z\",\"log.level\":\"error\",\"message\":\"a \\\"b\\\"\\n\\u0001\xef\xbf\xbd\","
        "\"ecs.version\":\"8.17.0\",\"service.type\":\"etwship\","
        "\"event.dataset\":\"etwship.log\",\"event.code\":\"output\",\"process.pid\":";
    assert_int_equal(line.size, strlen(head) + 27 + strlen(tail) + strlen(end));
    assert_memory_equal(line.data, head, strlen(head));
    line = span_from(line, strlen(head) + 27);
    assert_span(span_first(line, strlen(tail)), tail);
    assert_span(span_from(line, strlen(tail)), end);
}

static void the_first_of_a_kind_is_written_and_the_rest_counted(void **state)
{
    (void)state;
    struct log *log = make_console();
    for (int i = 0; i < 42; i++) {
        log_write(log, LOG_LEVEL_WARNING, "a", "refused %d", i);
        clock_ns += second;
    }
    log_write(log, LOG_LEVEL_ERROR, "b", "other");
    assert_span(buf_span(&console), "etwship: warning: refused 0\netwship: error: other\n");
    buf_reset(&console);
    clock_ns += 18 * second; /* 60 seconds since the first */
    log_tick(log);
    assert_span(buf_span(&console), "etwship: warning: refused 41 (repeated 41 times in 60 s)\n");
    buf_reset(&console);
    clock_ns += 10 * second;
    log_write(log, LOG_LEVEL_WARNING, "a", "refused again");
    assert_int_equal(console.size, 0); /* the minute after the summary */
    log_destroy(log);
    assert_span(buf_span(&console), "etwship: warning: refused again (repeated 1 time in 10 s)\n");
}

static void a_line_after_a_silent_minute_is_a_first_one(void **state)
{
    (void)state;
    struct log *log = make_console();
    for (int i = 0; i < 3; i++) {
        log_write(log, LOG_LEVEL_WARNING, "a", "refused %d", i);
        clock_ns += 60 * second;
    }
    log_destroy(log);
    assert_span(buf_span(&console),
        "etwship: warning: refused 0\netwship: warning: refused 1\netwship: warning: refused 2\n");
}

static void lines_without_a_kind_are_never_thinned(void **state)
{
    (void)state;
    struct log *log = make_console();
    for (int i = 0; i < 3; i++) {
        log_write(log, LOG_LEVEL_INFO, NULL, "same");
        log_write(log, LOG_LEVEL_INFO, "", "same");
    }
    assert_int_equal(console.size, 6 * strlen("etwship: info: same\n"));
    log_destroy(log);
}

static void more_kinds_than_room_lose_no_first_and_no_count(void **state)
{
    (void)state;
    enum { KINDS = 1000, EACH = 3 };
    struct log *log = make_console();
    for (int i = 0; i < KINDS; i++) {
        char kind[128]; /* kinds that differ only after their 63rd byte are one kind */
        snprintf(kind, sizeof(kind), "%04d%0100d", i, 7);
        for (int k = 0; k < EACH; k++) {
            log_write(log, LOG_LEVEL_INFO, kind, "x");
            clock_ns += 1000;
        }
    }
    log_destroy(log);
    size_t firsts = 0;
    size_t repeats = 0;
    buf_add_byte(&console, 0);
    for (char *line = strtok((char *)console.data, "\n"); line; line = strtok(NULL, "\n")) {
        firsts += strcmp(line, "etwship: info: x") == 0;
        repeats += strstr(line, "(repeated 2 times in 0 s)") != NULL;
    }
    assert_int_equal(firsts, KINDS);
    assert_int_equal(repeats, KINDS);
}

static void a_full_file_is_set_aside(void **state)
{
    (void)state;
    struct log *log = make((struct log_settings){
        .level = LOG_LEVEL_INFO, .path = path, .rotate_size = 100, .rotate_keep = 2});
    for (int i = 0; i < 8; i++) { /* 29 + 9 + 1 bytes: two to a file */
        log_write(log, LOG_LEVEL_INFO, NULL, "%03d", i);
    }
    log_destroy(log);
    char name[sizeof(path) + 16];
    assert_file(path, "info: 006\ninfo: 007\n");
    snprintf(name, sizeof(name), "%s.1", path);
    assert_file(name, "info: 004\ninfo: 005\n");
    snprintf(name, sizeof(name), "%s.2", path);
    assert_file(name, "info: 002\ninfo: 003\n");
    snprintf(name, sizeof(name), "%s.3", path);
    assert_int_equal(plat_path_kind(name), PLAT_PATH_NONE);
    assert_int_equal(console.size, 0);

    log = make((struct log_settings){
        .level = LOG_LEVEL_INFO, .path = path, .rotate_size = 100, .rotate_keep = 0});
    log_write(log, LOG_LEVEL_INFO, NULL, "008"); /* after the lines of an earlier run */
    log_destroy(log);
    assert_file(path, "info: 008\n");
}

static void a_file_that_cannot_be_set_aside_grows_on(void **state)
{
    (void)state;
    char name[sizeof(path) + 16];
    snprintf(name, sizeof(name), "%s.1", path);
    assert_true(plat_dir_create(name, &err));
    struct log *log = make((struct log_settings){
        .level = LOG_LEVEL_INFO, .path = path, .rotate_size = 60, .rotate_keep = 1});
    for (int i = 0; i < 4; i++) {
        log_write(log, LOG_LEVEL_INFO, NULL, "%03d", i);
    }
    log_destroy(log);
    assert_file(path, "info: 000\ninfo: 001\ninfo: 002\ninfo: 003\n");
    buf_add_byte(&console, 0);
    assert_non_null(strstr((char *)console.data, "cannot be renamed"));
    assert_non_null(strstr((char *)console.data, "the file keeps growing"));
    assert_true(temp_folder_remove_empty(name));
}

static void reopening_follows_a_file_that_was_moved_away(void **state)
{
    (void)state;
    char moved[sizeof(path) + 16];
    snprintf(moved, sizeof(moved), "%s.2", path);
    struct log *log = make((struct log_settings){.path = path});
    log_write(log, LOG_LEVEL_ERROR, NULL, "one");
    assert_true(plat_path_rename(path, moved, &err));
    log_write(log, LOG_LEVEL_ERROR, NULL, "two");
    log_reopen(log);
    log_write(log, LOG_LEVEL_ERROR, NULL, "three");
    log_destroy(log);
    assert_file(moved, "error: one\nerror: two\n");
    assert_file(path, "error: three\n");
}

static void a_file_that_fails_sends_lines_to_the_console_until_it_works(void **state)
{
    (void)state;
    char later[sizeof(path)];
    char inside[sizeof(path) + 16];
    snprintf(later, sizeof(later), "%s/later", folder);
    snprintf(inside, sizeof(inside), "%s/agent.log", later);
    struct log *log = make((struct log_settings){.path = inside});
    log_write(log, LOG_LEVEL_ERROR, NULL, "one");
    log_write(log, LOG_LEVEL_ERROR, NULL, "two");
    buf_add_byte(&console, 0);
    const char *text = (const char *)console.data;
    assert_non_null(strstr(text, "lines are written here until it works again\n"));
    assert_non_null(strstr(text, "\netwship: error: one\netwship: error: two\n"));
    assert_true(plat_dir_create(later, &err));
    clock_ns += 9 * second;
    log_write(log, LOG_LEVEL_ERROR, NULL, "three");
    assert_int_equal(plat_path_kind(inside), PLAT_PATH_NONE);
    clock_ns += second;
    log_write(log, LOG_LEVEL_ERROR, NULL, "four");
    log_destroy(log);
    assert_file(inside, "error: four\nwarning: log: 3 lines went to standard error instead\n");
}

static void a_full_disk_stops_nothing(void **state)
{
    (void)state;
    if (plat_path_kind("/dev/full") == PLAT_PATH_NONE) {
        skip();
    }
    struct log *log = make((struct log_settings){.path = "/dev/full"});
    log_write(log, LOG_LEVEL_ERROR, NULL, "one");
    log_write(log, LOG_LEVEL_ERROR, NULL, "two");
    log_destroy(log);
    buf_add_byte(&console, 0);
    const char *text = (const char *)console.data;
    assert_non_null(strstr(text, "No space left on device"));
    assert_non_null(strstr(text, "\netwship: error: one\netwship: error: two\n"));
}

enum { THREADS = 4, LINES = 500 };

static void write_lines(void *self)
{
    for (int i = 0; i < LINES; i++) {
        log_write(self, LOG_LEVEL_INFO, NULL, "abcdefghijklmnopqrstuvwxyz");
        log_write(self, LOG_LEVEL_INFO, "kind", "thinned");
        if (i % 100 == 0) {
            log_reopen(self);
        }
    }
}

static void lines_of_several_threads_never_mix(void **state)
{
    (void)state;
    struct log *log = make((struct log_settings){.level = LOG_LEVEL_INFO, .path = path});
    struct plat_thread *threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = plat_thread_start("log", write_lines, log, &err);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        plat_thread_join(threads[i]);
    }
    log_destroy(log);
    char *text;
    size_t size;
    size_t plain = 0;
    size_t thinned = 0;
    char count[64];
    snprintf(count, sizeof(count), "info: thinned (repeated %d times in 0 s)", THREADS * LINES - 1);
    assert_true(plat_file_load(path, 1 << 20, &text, &size, &err));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        plain += strcmp(line + 29, "info: abcdefghijklmnopqrstuvwxyz") == 0;
        thinned += strcmp(line + 29, "info: thinned") == 0;
        thinned += strcmp(line + 29, count) == 0;
    }
    free(text);
    assert_int_equal(plain, THREADS * LINES);
    assert_int_equal(thinned, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(levels_beyond_the_settings_are_left_out, clear),
        cmocka_unit_test_setup(a_listener_gets_every_line_wherever_it_is_written, clear),
        cmocka_unit_test_setup(one_call_is_one_line_whatever_the_text, clear),
        cmocka_unit_test_setup(a_long_text_is_cut_on_a_character, clear),
        cmocka_unit_test_setup(json_lines_are_json, clear),
        cmocka_unit_test_setup(the_first_of_a_kind_is_written_and_the_rest_counted, clear),
        cmocka_unit_test_setup(a_line_after_a_silent_minute_is_a_first_one, clear),
        cmocka_unit_test_setup(lines_without_a_kind_are_never_thinned, clear),
        cmocka_unit_test_setup(more_kinds_than_room_lose_no_first_and_no_count, clear),
        cmocka_unit_test_setup(a_full_file_is_set_aside, clear),
        cmocka_unit_test_setup(a_file_that_cannot_be_set_aside_grows_on, clear),
        cmocka_unit_test_setup(reopening_follows_a_file_that_was_moved_away, clear),
        cmocka_unit_test_setup(a_file_that_fails_sends_lines_to_the_console_until_it_works, clear),
        cmocka_unit_test_setup(a_full_disk_stops_nothing, clear),
        cmocka_unit_test_setup(lines_of_several_threads_never_mix, clear),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
