#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_DELIVERY_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_DELIVERY_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "pipeline/deliver/delivery_host.h"
#include "support/test.h"

/*
 * An output that follows a script, a letter per call of send: D delivered, R retry, C reconnect, J
 * rejected, F fatal, X closed, M mixed. After M comes a word with a letter per record: d, r, j, b
 * (blocked, with a reason) or - (no status). After the end of the script everything is delivered.
 * `log` has each call: `<` and `>` for connect and disconnect, else the records that were sent.
 */
struct script {
    const char *at;
    unsigned connects_that_fail;
    bool no_create;
    struct buf log;
    struct buf delivered;
    unsigned destroyed;
    unsigned stop_after; /* calls of stopping; 0: never */
    unsigned asked;
    struct buf warnings;
    struct buf waits; /* in ms; `!`: the destination asked for it */
    struct buf kept;  /* refused records, each with its reason */
    unsigned keeps_that_fail;
    bool full; /* storing fails because there is no room */
    bool keeps;
    bool parks;
    struct buf parked;   /* `2 403 shut INDEX;`: the record, and the reason */
    uint64_t max_age_ns; /* of the host */
    bool never_clear;
    bool sleeps;     /* while it waits */
    struct buf left; /* records of the delivery that are left: `0 2,` */
    struct buf lost; /* `1+2j`: two records from 1 on; j rejected, o too old, u undelivered */
};

static inline void *fake_create(
    const void *settings, const struct output_env *env, struct error *err)
{
    struct script *script = (struct script *)(uintptr_t)settings;
    assert_string_equal(env->name, "fake");
    if (script->no_create) {
        error_set(err, ERR_CONFIG, "no way");
        return NULL;
    }
    return script;
}

static inline bool fake_connect(void *self, struct error *err)
{
    struct script *script = self;
    buf_add_byte(&script->log, '<');
    if (script->connects_that_fail) {
        script->connects_that_fail--;
        return error_set(err, ERR_IO, "nobody there");
    }
    return true;
}

static inline void fake_disconnect(void *self)
{
    struct script *script = self;
    buf_add_byte(&script->log, '>');
}

static inline void fake_destroy(void *self)
{
    struct script *script = self;
    script->destroyed++;
}

static inline struct span record_of(const struct delivery *delivery, size_t i)
{
    uint32_t start = i ? delivery->record_ends[i - 1] : 0;
    return span_make(delivery->bytes.data + start, delivery->record_ends[i] - start);
}

static inline void block(
    const struct delivery *delivery, size_t record, struct output_report *report)
{
    const struct output_rejection why = {.status = 403,
        .type = span_text("shut"),
        .reason = span_text("it is shut"),
        .index = delivery->routes ? delivery->route_names[delivery->routes[record]]
                                  : span_text("logs")};
    report->reject(report->host, record, &why);
}

static inline enum output_verdict mixed(
    struct script *script, const struct delivery *delivery, struct output_report *report)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        switch (*script->at++) {
        case 'd':
            report->records[i] = RECORD_DELIVERED;
            buf_add_span(&script->delivered, record_of(delivery, i));
            break;
        case 'r':
            report->records[i] = RECORD_RETRY;
            break;
        case 'j':
            report->records[i] = RECORD_REJECTED;
            break;
        case 'b':
        case 'h':
            report->records[i] = script->at[-1] == 'h' ? RECORD_HELD : RECORD_BLOCKED;
            report->set_up = "mend it";
            block(delivery, i, report);
            break;
        default:
            break;
        }
    }
    error_set(&report->error, ERR_IO, "some failed");
    return OUTPUT_MIXED;
}

/* Letters before a verdict: w asks for 7 s, W for 2 h, g says that the set-up is wrong, u reports
 * two unexpected duplicates, p that one of the rejected records has arrived, x that every second
 * record is refused, with a reason. */
static inline void take_hints(
    struct script *script, const struct delivery *delivery, struct output_report *report)
{
    for (; *script->at && strchr("wWgupx", *script->at); script->at++) {
        switch (*script->at) {
        case 'w':
            report->wait_ms = 7000;
            break;
        case 'W':
            report->wait_ms = 7200000;
            break;
        case 'g':
            report->degraded = true;
            break;
        case 'u':
            report->unexpected_duplicates = 2;
            report->maybe_duplicates = 3;
            report->maybe_lost = 4;
            break;
        case 'p':
            report->rejected_but_arrived = 1;
            report->rejected_maybe_arrived = 1;
            break;
        default:
            for (size_t i = 0; i < delivery->record_count; i += 2) {
                struct output_rejection why = {.status = 400 + (int)i,
                    .type = span_text("bad"),
                    .reason = span_text("not my type"),
                    .index = span_text("logs")};
                report->reject(report->host, i, &why);
            }
            break;
        }
    }
}

static inline enum output_verdict fake_send(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    struct script *script = self;
    assert_true(delivery->record_count > 0);
    assert_int_equal(
        delivery->record_ends[delivery->record_count - 1], (uint32_t)delivery->bytes.size);
    buf_add_byte(&script->log, '(');
    for (size_t i = 0; i < delivery->record_count; i++) {
        buf_add_text(&script->log, i ? "," : "");
        buf_add_span(&script->log, record_of(delivery, i));
    }
    buf_add_text(&script->log, delivery->repeated ? ")*" : ")");
    buf_add_text(&script->log, delivery->cleared ? "!" : "");
    error_set(&report->error, ERR_IO, "said no");
    take_hints(script, delivery, report);
    char verdict = *script->at ? *script->at++ : 'D';
    switch (verdict) {
    case 'M':
        return mixed(script, delivery, report);
    case 'R':
        return OUTPUT_RETRY;
    case 'C':
        return OUTPUT_RECONNECT;
    case 'J':
        return OUTPUT_REJECTED;
    case 'X':
        error_set(&report->error, ERR_STOPPED, "closed");
        return OUTPUT_FATAL;
    case 'F':
        return OUTPUT_FATAL;
    default:
        buf_add_span(&script->delivered, delivery->bytes);
        return OUTPUT_DELIVERED;
    }
}

static const struct output_ops full_ops = {.name = "fake",
    .create = fake_create,
    .connect = fake_connect,
    .send = fake_send,
    .disconnect = fake_disconnect,
    .destroy = fake_destroy};
static const struct output_ops bare_ops = {
    .name = "fake", .create = fake_create, .send = fake_send, .destroy = fake_destroy};

static inline bool fake_stopping(void *self)
{
    struct script *script = self;
    return script->stop_after && ++script->asked >= script->stop_after;
}

/* The word before the text of any report but a plain failure. */
static inline void fake_tell(void *self, enum delivery_news news, const char *text)
{
    static const char *const words[] = {[DELIVERY_FAILS] = "",
        [DELIVERY_REFUSED] = "refused: ",
        [DELIVERY_DEGRADED] = "degraded: ",
        [DELIVERY_MENDED] = "mended",
        [DELIVERY_DUPLICATES] = "duplicates",
        [DELIVERY_AGED] = "aged: "};
    struct script *script = self;
    buf_printf(&script->warnings, "%s%s;", words[news], text);
}

static inline bool fake_wait(void *self, unsigned ms)
{
    struct script *script = self;
    buf_printf(&script->waits, "%u ", ms);
    return !fake_stopping(script);
}

static inline bool fake_clear(void *self)
{
    struct script *script = self;
    return !script->never_clear;
}

static inline void fake_keep_quiet(void *self, unsigned ms)
{
    struct script *script = self;
    buf_printf(&script->waits, "!%u ", ms);
}

static inline bool fake_keep(
    void *self, const struct delivery_refusal *refusals, size_t count, struct error *err)
{
    struct script *script = self;
    if (script->keeps_that_fail) {
        script->keeps_that_fail--;
        return error_set(err, script->full ? ERR_LIMIT : ERR_IO, "disk full");
    }
    for (size_t i = 0; i < count; i++) {
        const struct output_rejection *why = &refusals[i].why;
        buf_printf(&script->kept, "%zu %.*s %d %.*s %.*s %.*s;", refusals[i].record,
            SPAN_ARG(refusals[i].document), why->status, SPAN_ARG(why->type), SPAN_ARG(why->reason),
            SPAN_ARG(why->index));
    }
    return true;
}

static inline void fake_lost(void *self, size_t first, size_t count, enum delivery_loss why)
{
    static const char letters[] = {
        [DELIVERY_REJECTED] = 'j', [DELIVERY_TOO_OLD] = 'o', [DELIVERY_UNDELIVERED] = 'u'};
    struct script *script = self;
    buf_printf(&script->lost, "%zu+%zu%c ", first, count, letters[why]);
}

static inline void fake_left(void *self, const uint32_t *records, size_t count)
{
    struct script *script = self;
    for (size_t i = 0; i < count; i++) {
        buf_printf(&script->left, "%s%u", i ? " " : "", (unsigned)records[i]);
    }
    buf_add_byte(&script->left, ',');
}

static inline void fake_park(void *self, size_t record, const struct output_rejection *why)
{
    struct script *script = self;
    buf_printf(&script->parked, "%zu %d %.*s %.*s%s;", record, why->status, SPAN_ARG(why->type),
        SPAN_ARG(why->index), why->set_up ? why->set_up : "");
}

static inline struct delivery_host *start(
    struct script *script, const char *text, const struct output_ops *ops, bool ends_on_failure)
{
    script->at = text;
    buf_init(&script->log, 1 << 16);
    buf_init(&script->delivered, 1 << 16);
    buf_init(&script->warnings, 1 << 16);
    buf_init(&script->lost, 1 << 16);
    buf_init(&script->left, 1 << 16);
    buf_init(&script->waits, 1 << 16);
    buf_init(&script->kept, 1 << 20);
    buf_init(&script->parked, 1 << 16);
    const struct delivery_host_settings settings = {.ops = ops,
        .settings = script,
        .name = "fake",
        .ends_on_failure = ends_on_failure,
        .stopping = fake_stopping,
        .retry = {.min_ms = 1, .max_ms = 4, .max_age_ns = script->max_age_ns},
        .wait = script->sleeps ? NULL : fake_wait,
        .clear = fake_clear,
        .keep_quiet = fake_keep_quiet,
        .tell = fake_tell,
        .keep = script->keeps ? fake_keep : NULL,
        .park = script->parks ? fake_park : NULL,
        .lost = fake_lost,
        .left = fake_left,
        .self = script};
    struct delivery_host *host = delivery_host_create(&settings, NULL);
    assert_non_null(host);
    return host;
}

static inline void finish(struct script *script, struct delivery_host *host)
{
    delivery_host_destroy(host);
    assert_int_equal(script->destroyed, 1);
    buf_fini(&script->log);
    buf_fini(&script->delivered);
    buf_fini(&script->warnings);
    buf_fini(&script->lost);
    buf_fini(&script->left);
    buf_fini(&script->waits);
    buf_fini(&script->kept);
    buf_fini(&script->parked);
}

/* Deliver the records of ${text}, one per word. The batch is invalid as soon as deliver returns. */
static inline bool deliver(struct delivery_host *host, const char *text)
{
    struct delivery delivery = {.record_count = 0};
    uint32_t *ends = calloc(strlen(text) + 1, sizeof(*ends));
    uint8_t *bytes = malloc(strlen(text) + 1);
    assert_true(ends && bytes);
    size_t size = 0;
    for (; *text; text++) {
        if (*text == ' ') {
            ends[delivery.record_count++] = (uint32_t)size;
        } else {
            bytes[size++] = (uint8_t)*text;
        }
    }
    if (size) {
        ends[delivery.record_count++] = (uint32_t)size;
    }
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    free(bytes);
    delivery.bytes = span_make(exact, size);
    delivery.record_ends = ends;
    bool go_on = delivery_host_deliver(host, &delivery);
    free(ends);
    free(exact);
    return go_on;
}

static inline void assert_counts(const struct delivery_host *host, uint64_t delivered,
    uint64_t rejected, uint64_t undelivered, uint64_t bytes, uint64_t retries)
{
    struct delivery_counts counts = delivery_host_counts(host);
    assert_int_equal(counts.delivered, delivered);
    assert_int_equal(counts.rejected, rejected);
    assert_int_equal(counts.undelivered, undelivered);
    assert_int_equal(counts.bytes, bytes);
    assert_int_equal(counts.retries, retries);
}

#endif
