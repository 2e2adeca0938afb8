#include "app/log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/log/log_file.h"
#include "base/buf.h"
#include "base/put.h"
#include "base/utf.h"
#include "base/visible.h"
#include "event/shape/ecs_version.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_self.h"
#include "platform/plat_thread.h"

/*
 * Design: one mutex around everything, held while a line is written, so that lines never mix. The
 * kinds of the last minute are in a small table; when it is full, the oldest one is logged and
 * removed. Texts hold names and reasons from anywhere, so control characters are shown, not obeyed:
 * one call gives one line.
 *
 * On standard error a line is what all of the program's lines there are (`etwship: warning: …`),
 * without a time, which a terminal's user does not need and a service manager adds. A halted
 * terminal or a pipe without a reader blocks no thread: the log leaves lines out meanwhile, and
 * counts them.
 */
enum { MAX_KINDS = 64, MAX_KIND_BYTES = 64, MAX_LINE_BYTES = 64 * 1024, READER_WAIT_MS = 100 };

static const uint64_t window_ns = UINT64_C(60000000000);

static const struct {
    const char *name;
    const char *todo;
} causes[] = {
#define CAUSE(id, name, todo) [LOG_CAUSE_##id] = {name, todo},
#include "app/log/log_causes.def"
#undef CAUSE
};

const char *const log_level_names[] = {"error", "warning", "info", "debug", NULL};
const char *const log_format_names[] = {"text", "json", NULL};

struct repeat {
    char kind[MAX_KIND_BYTES]; /* "": free */
    enum log_level level;
    enum log_cause cause;
    uint64_t since_ns;
    uint64_t count; /* since then, not written */
    char text[LOG_MAX_TEXT_BYTES];
};

struct recent {
    uint64_t time; /* FILETIME */
    enum log_level level;
    enum log_cause cause;
    char text[LOG_RECENT_TEXT_BYTES];
};

struct log {
    struct log_settings settings;
    bool to_file;
    struct log_file file;
    uint64_t elsewhere;            /* lines that the file did not take */
    struct plat_file *stderr_file; /* NULL: there is none */
    struct buf rest;               /* of a line that standard error has taken a part of */
    uint64_t left_out;             /* lines since then */
    struct plat_mutex mutex;
    struct buf line;
    struct repeat repeats[MAX_KINDS];
    struct recent recent[LOG_RECENT_MAX]; /* a ring: number recent_count is the next */
    size_t recent_count;
};

static uint64_t now(const struct log *log)
{
    const struct log_settings *s = &log->settings;
    return s->now_ns ? s->now_ns(s->self) : plat_monotonic_ns();
}

const char *log_cause_name(enum log_cause cause)
{
    return causes[cause].name;
}

const char *log_cause_what_to_do(enum log_cause cause)
{
    return causes[cause].todo;
}

struct log *log_create(const struct log_settings *settings, struct error *err)
{
    struct log *log = calloc(1, sizeof(*log));
    if (!log) {
        error_set(err, ERR_MEMORY, "out of memory for the log");
        return NULL;
    }
    log->settings = *settings;
    log->to_file = settings->path != NULL;
    if (log->to_file &&
        !log_file_init(&log->file, settings->path, settings->rotate_size, settings->rotate_keep)) {
        error_set(err, ERR_MEMORY, "out of memory for the log");
        free(log);
        return NULL;
    }
    plat_mutex_init(&log->mutex);
    buf_init(&log->line, MAX_LINE_BYTES);
    buf_init(&log->rest, MAX_LINE_BYTES);
    log->stderr_file = settings->console ? NULL : plat_file_stderr_open(NULL);
    return log;
}

/* ---- one line -------------------------------------------------------------------------------- */

static void add_time(struct buf *line)
{
    if (buf_reserve(line, PUT_MAX)) {
        uint8_t *end = line->data + line->size;
        put_filetime(&end, plat_now_filetime());
        line->size = (size_t)(end - line->data);
    }
}

/* By ECS: the names with dots and their order are those of its logging libraries. */
static void add_json(struct buf *line, enum log_level level, enum log_cause cause, struct span text)
{
    buf_add_text(line, "{\"@timestamp\":\"");
    add_time(line);
    buf_printf(line, "\",\"log.level\":\"%s\",\"message\":\"", log_level_names[level]);
    buf_add_json(line, text);
    buf_printf(line,
        "\",\"ecs.version\":\"" ECS_VERSION "\",\"service.type\":\"etwship\","
        "\"event.dataset\":\"etwship.log\",\"event.code\":\"%s\",\"process.pid\":%llu}\n",
        causes[cause].name, (unsigned long long)plat_process_id());
}

static void add_line(const struct log *log, struct buf *line, enum log_level level,
    enum log_cause cause, struct span text, bool on_console)
{
    buf_reset(line);
    if (log->settings.format == LOG_FORMAT_JSON) {
        add_json(line, level, cause, text);
        return;
    }
    if (on_console) {
        buf_add_text(line, "etwship");
    } else {
        add_time(line);
    }
    buf_printf(line, on_console ? ": %s: " : " %s: ", log_level_names[level]);
    visible_add(line, text);
    buf_add_byte(line, '\n');
}

/* Write as much of ${text} as standard error takes; false if something is left, which is kept. */
static bool write_some(struct log *log, struct span text, unsigned wait_ms)
{
    size_t written = 0;
    if (!plat_file_write_some(log->stderr_file, text, wait_ms, &written, NULL)) {
        return true; /* it is closed: nothing is missed */
    }
    if (written == 0 || written == text.size) {
        return written == text.size;
    }
    struct span left = span_from(text, written);
    if (left.data != log->rest.data + written) {
        buf_reset(&log->rest);
        buf_add_span(&log->rest, left);
        return false;
    }
    memmove(log->rest.data, left.data, left.size);
    log->rest.size = left.size;
    return false;
}

static void write_stderr(struct log *log, struct span line)
{
    unsigned wait_ms = log->left_out || log->rest.size ? 0 : READER_WAIT_MS;
    if (!log->stderr_file) {
        return;
    }
    if (log->rest.size) {
        if (!write_some(log, buf_span(&log->rest), wait_ms)) {
            log->left_out++;
            return;
        }
        buf_reset(&log->rest);
    }
    if (log->left_out) {
        char report[96];
        int size = snprintf(report, sizeof(report),
            "etwship: warning: %llu lines were left out: standard error was not read\n",
            (unsigned long long)log->left_out);
        bool whole = write_some(log, span_make(report, (size_t)size), wait_ms);
        if (!whole) {
            log->left_out = log->rest.size ? 1 : log->left_out + 1;
            return;
        }
        log->left_out = 0;
    }
    log->left_out += !write_some(log, line, wait_ms) && log->rest.size == 0;
}

static void write_console(
    struct log *log, enum log_level level, enum log_cause cause, const char *text)
{
    const struct log_settings *s = &log->settings;
    add_line(log, &log->line, level, cause, span_text(text), true);
    if (s->console) {
        s->console(s->self, buf_span(&log->line));
    } else {
        write_stderr(log, buf_span(&log->line));
    }
}

static void tell_also(struct log *log, enum log_level level, enum log_cause cause, const char *text)
{
    if (log->settings.also) {
        char shown[LOG_MAX_TEXT_BYTES + 64];
        snprintf(shown, sizeof(shown), "%s", text);
        visible_fit(shown, sizeof(shown));
        log->settings.also(log->settings.also_self, level, cause, shown);
    }
}

static void keep_recent(
    struct log *log, enum log_level level, enum log_cause cause, const char *text)
{
    struct recent *recent = &log->recent[log->recent_count++ % LOG_RECENT_MAX];
    recent->time = plat_now_filetime();
    recent->level = level;
    recent->cause = cause;
    snprintf(recent->text, sizeof(recent->text), "%s", text);
}

void log_recent(struct log *log,
    void (*each)(
        void *self, uint64_t time, enum log_level level, enum log_cause cause, const char *text),
    void *self)
{
    plat_mutex_lock(&log->mutex);
    for (size_t i = 0; i < LOG_RECENT_MAX && i < log->recent_count; i++) {
        const struct recent *recent = &log->recent[(log->recent_count - 1 - i) % LOG_RECENT_MAX];
        each(self, recent->time, recent->level, recent->cause, recent->text);
    }
    plat_mutex_unlock(&log->mutex);
}

static void write_line(
    struct log *log, enum log_level level, enum log_cause cause, const char *text, uint64_t now_ns)
{
    tell_also(log, level, cause, text);
    if (level <= LOG_LEVEL_WARNING) {
        keep_recent(log, level, cause, text);
    }
    if (!log->to_file) {
        write_console(log, level, cause, text);
        return;
    }
    struct error why;
    add_line(log, &log->line, level, cause, span_text(text), false);
    bool written = log_file_write(&log->file, buf_span(&log->line), now_ns, &why);
    if (why.code != ERR_NONE) {
        char report[sizeof(why.text) + 64];
        snprintf(report, sizeof(report), "log: %s%s", why.text,
            written ? ". the file keeps growing" : ". lines are written here until it works again");
        write_console(log, LOG_LEVEL_WARNING, LOG_CAUSE_LOG, report);
        tell_also(log, LOG_LEVEL_WARNING, LOG_CAUSE_LOG, report);
    }
    if (!written) {
        log->elsewhere++;
        write_console(log, level, cause, text);
    } else if (log->elsewhere) {
        char report[96];
        snprintf(report, sizeof(report), "log: %llu lines went to standard error instead",
            (unsigned long long)log->elsewhere);
        log->elsewhere = 0;
        write_line(log, LOG_LEVEL_WARNING, LOG_CAUSE_LOG, report, now_ns);
    }
}

/* ---- thinning -------------------------------------------------------------------------------- */

/* Write how many lines were left out. A kind without any is removed:
 * its next line is a first one. */
static void tell_repeats(struct log *log, struct repeat *repeat, uint64_t now_ns)
{
    if (repeat->count == 0) {
        repeat->kind[0] = '\0';
        return;
    }
    char text[LOG_MAX_TEXT_BYTES + 64];
    uint64_t seconds = (now_ns - repeat->since_ns + 500000000) / 1000000000;
    snprintf(text, sizeof(text), "%s (repeated %llu time%s in %llu s)", repeat->text,
        (unsigned long long)repeat->count, repeat->count == 1 ? "" : "s",
        (unsigned long long)seconds);
    repeat->count = 0;
    repeat->since_ns = now_ns;
    write_line(log, repeat->level, repeat->cause, text, now_ns);
}

static void tell_due(struct log *log, uint64_t now_ns)
{
    for (size_t i = 0; i < MAX_KINDS; i++) {
        struct repeat *repeat = &log->repeats[i];
        if (repeat->kind[0] && now_ns - repeat->since_ns >= window_ns) {
            tell_repeats(log, repeat, now_ns);
        }
    }
}

/* The entry of ${kind}, or one to be made its own, whose kind differs. */
static struct repeat *find(struct log *log, const char *kind, uint64_t now_ns)
{
    struct repeat *oldest = &log->repeats[0];
    struct repeat *empty = NULL;
    for (size_t i = 0; i < MAX_KINDS; i++) {
        struct repeat *repeat = &log->repeats[i];
        if (!repeat->kind[0]) {
            empty = repeat;
        } else if (strncmp(repeat->kind, kind, MAX_KIND_BYTES - 1) == 0) {
            return repeat;
        } else if (repeat->since_ns < oldest->since_ns) {
            oldest = repeat;
        }
    }
    if (empty) {
        return empty;
    }
    tell_repeats(log, oldest, now_ns);
    oldest->kind[0] = '\0';
    return oldest;
}

/* Is the line one of many, and counted instead of written? */
static bool is_thinned(struct log *log, enum log_level level, enum log_cause cause,
    const char *kind, const char *text, uint64_t now_ns)
{
    struct repeat *repeat = find(log, kind, now_ns);
    bool known = repeat->kind[0] != '\0';
    if (!known) {
        snprintf(repeat->kind, sizeof(repeat->kind), "%s", kind);
        repeat->since_ns = now_ns;
        repeat->count = 0;
    }
    repeat->count += known;
    repeat->level = level;
    repeat->cause = cause;
    snprintf(repeat->text, sizeof(repeat->text), "%s", text);
    return known;
}

/* Replace the rest of a cut character by the mark for it. */
static void mark_cut(char text[LOG_MAX_TEXT_BYTES])
{
    static const char cut[] = "…";
    size_t at = LOG_MAX_TEXT_BYTES - sizeof(cut);
    while (at > 0 && ((uint8_t)text[at] & 0xc0) == 0x80) {
        at--;
    }
    memcpy(text + at, cut, sizeof(cut));
}

static void add(struct log *log, enum log_level level, enum log_cause cause, const char *kind,
    const char *format, va_list args)
{
    char text[LOG_MAX_TEXT_BYTES];
    if (!log || level > log->settings.level) {
        return;
    }
    if (vsnprintf(text, sizeof(text), format, args) >= LOG_MAX_TEXT_BYTES) {
        mark_cut(text);
    }
    plat_mutex_lock(&log->mutex);
    uint64_t now_ns = now(log);
    tell_due(log, now_ns);
    if (!kind || !kind[0] || !is_thinned(log, level, cause, kind, text, now_ns)) {
        write_line(log, level, cause, text, now_ns);
    }
    plat_mutex_unlock(&log->mutex);
}

void log_write(struct log *log, enum log_level level, const char *kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(log, level, LOG_CAUSE_OTHER, kind, format, args);
    va_end(args);
}

void log_write_as(struct log *log, enum log_cause cause, enum log_level level, const char *kind,
    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(log, level, cause, kind, format, args);
    va_end(args);
}

void log_tick(struct log *log)
{
    if (log) {
        plat_mutex_lock(&log->mutex);
        tell_due(log, now(log));
        plat_mutex_unlock(&log->mutex);
    }
}

void log_reopen(struct log *log)
{
    if (log && log->to_file) {
        plat_mutex_lock(&log->mutex);
        log_file_reopen(&log->file);
        plat_mutex_unlock(&log->mutex);
    }
}

void log_destroy(struct log *log)
{
    if (!log) {
        return;
    }
    uint64_t now_ns = now(log);
    for (size_t i = 0; i < MAX_KINDS; i++) {
        if (log->repeats[i].kind[0]) {
            tell_repeats(log, &log->repeats[i], now_ns);
        }
    }
    if (log->to_file) {
        log_file_fini(&log->file);
    }
    plat_mutex_fini(&log->mutex);
    plat_file_close(log->stderr_file);
    buf_fini(&log->line);
    buf_fini(&log->rest);
    free(log);
}
