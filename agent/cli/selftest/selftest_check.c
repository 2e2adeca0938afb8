#include "cli/selftest/selftest_check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "config/config.h"
#include "platform/plat_clock.h"

/*
 * Lines have the native format; the keys searched for are unique before the payload. Everything
 * belongs to the output's thread, except `sent`, which the writer sets before `is_sent`; begin and
 * end run before and after the thread.
 */
enum { MAX_CPUS = 64, MAX_TEXT = 4096 };

static struct {
    struct selftest_seen seen;
    uint64_t *latencies;
    size_t latency_room;
    size_t latency_count;
    uint64_t last[SELFTEST_KINDS][MAX_CPUS];
    uint64_t sent[SELFTEST_KINDS];
    atomic_bool is_sent;
    struct buf expected;
} check;

/* ---- lines ----------------------------------------------------------------------------------- */

/* The text after the first ${key} in ${line}; empty: not found. */
static struct span behind(struct span line, const char *key)
{
    size_t at = span_find(line, key);
    return at == SIZE_MAX ? span_make(NULL, 0) : span_from(line, at + strlen(key));
}

static uint64_t number_at(struct span digits)
{
    uint64_t number = 0;
    for (size_t i = 0; i < digits.size && i < 20; i++) {
        uint8_t c = digits.data[i];
        if (c < '0' || c > '9') {
            break;
        }
        number = number * 10 + (uint64_t)(c - '0');
    }
    return number;
}

/* The text up to the next quote. */
static struct span text_at(struct span quoted)
{
    size_t size = 0;
    while (size < quoted.size && quoted.data[size] != '"') {
        size++;
    }
    return span_first(quoted, size);
}

static void copy_text(char *to, size_t size, struct span text)
{
    size_t length = text.size < size ? text.size : size - 1;
    if (length) {
        memcpy(to, text.data, length);
    }
    to[length] = 0;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void take_gap(struct span line)
{
    struct span gap = behind(line, "\"gap\":{");
    struct span stage = text_at(behind(gap, "\"stage\":\""));
    struct span reason = text_at(behind(gap, "\"reason\":\""));
    struct span unit = text_at(behind(gap, "\"unit\":\""));
    uint64_t count = number_at(behind(gap, "\"count\":"));
    struct selftest_seen *seen = &check.seen;
    if (span_is(unit, "events")) {
        seen->lost += count;
    } else {
        seen->lost_otherwise += count;
    }
    for (size_t i = 0; i < seen->loss_count; i++) {
        struct selftest_loss *loss = &seen->losses[i];
        if (span_is(stage, loss->stage) && span_is(reason, loss->reason) &&
            span_is(unit, loss->unit)) {
            loss->count += count;
            return;
        }
    }
    if (seen->loss_count < SELFTEST_MAX_LOSSES) {
        struct selftest_loss *loss = &seen->losses[seen->loss_count++];
        copy_text(loss->stage, sizeof(loss->stage), stage);
        copy_text(loss->reason, sizeof(loss->reason), reason);
        copy_text(loss->unit, sizeof(loss->unit), unit);
        loss->count = count;
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void take_latency(uint64_t sent_ns, uint64_t now_ns)
{
    if (check.latency_room && sent_ns <= now_ns) {
        check.latencies[check.latency_count++ % check.latency_room] = now_ns - sent_ns;
    }
}

/* True if ${line} has the values of ${expect}. */
static bool has_expected(struct span line, enum selftest_kind kind, uint64_t sequence,
    uint64_t sent_ns,
    void (*expect)(enum selftest_kind kind, uint64_t sequence, uint64_t sent_ns, struct buf *out))
{
    buf_reset(&check.expected);
    expect(kind, sequence, sent_ns, &check.expected);
    bool nothing = check.expected.size == 0;
    buf_add_byte(&check.expected, 0);
    return nothing ||
           (!check.expected.failed && behind(line, (const char *)check.expected.data).size);
}

static void take_event(enum selftest_kind kind, struct span line, uint64_t now_ns)
{
    bool is_message = kind == SELFTEST_MESSAGE;
    struct span data = behind(line, "\"data\":{");
    uint64_t sequence = number_at(behind(data, is_message ? "\"arg10\":" : "\"Sequence\":"));
    uint64_t sent_ns = number_at(behind(data, is_message ? "\"arg11\":" : "\"SentNs\":"));
    uint64_t cpu = number_at(behind(line, "\"cpu\":"));
    struct selftest_seen *seen = &check.seen;
    bool good = has_expected(line, kind, sequence, sent_ns, selftest_writer_expect) &&
                has_expected(line, kind, sequence, sent_ns, selftest_writer_expect_text);
    if (good && sequence == 0) {
        return; /* the last one, after those that count */
    }
    seen->received[kind]++;
    if (!good) {
        seen->wrong[kind]++;
        if (!seen->first_wrong[0]) {
            copy_text(seen->first_wrong, sizeof(seen->first_wrong), line);
        }
        return;
    }
    if (cpu < MAX_CPUS) {
        seen->out_of_order[kind] += sequence <= check.last[kind][cpu];
        check.last[kind][cpu] = sequence;
    }
    take_latency(sent_ns, now_ns);
}

static void take_line(struct span line, uint64_t now_ns)
{
    struct span kind = text_at(behind(line, "\"kind\":\""));
    if (span_is(kind, "agent")) {
        if (behind(line, "\"gap\":{").size) {
            take_gap(line);
        }
        return;
    }
    for (int i = 0; i < SELFTEST_KINDS; i++) {
        if (span_is(kind, selftest_writer_kind((enum selftest_kind)i))) {
            take_event((enum selftest_kind)i, line, now_ns);
        }
    }
}

static bool is_complete(void)
{
    uint64_t sent = 0;
    uint64_t received = 0;
    if (!atomic_load(&check.is_sent)) {
        return false;
    }
    for (int i = 0; i < SELFTEST_KINDS; i++) {
        sent += check.sent[i];
        received += check.seen.received[i];
    }
    return received + check.seen.lost >= sent;
}

/* ---- the output ------------------------------------------------------------------------------ */

static const struct config_field fields[] = {{.key = NULL}};

static void *check_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)settings;
    (void)env;
    (void)err;
    return &check;
}

static enum output_verdict check_send(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    (void)self;
    uint64_t now = plat_monotonic_ns();
    uint32_t start = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        take_line(span_make(delivery->bytes.data + start, delivery->record_ends[i] - start), now);
        start = delivery->record_ends[i];
    }
    if (is_complete()) {
        error_set(&report->error, ERR_STOPPED, "everything has arrived");
        return OUTPUT_FATAL;
    }
    return OUTPUT_DELIVERED;
}

static void check_destroy(void *self)
{
    (void)self;
}

const struct output_ops selftest_check_ops = {
    .name = "selftest",
    .fields = fields,
    .settings_size = 1,
    .alone = true,
    .create = check_create,
    .send = check_send,
    .destroy = check_destroy,
};

/* ---- begin and end --------------------------------------------------------------------------- */

bool selftest_check_begin(size_t latencies)
{
    memset(&check.seen, 0, sizeof(check.seen));
    memset(check.last, 0, sizeof(check.last));
    atomic_store(&check.is_sent, false);
    buf_init(&check.expected, MAX_TEXT);
    check.latency_count = 0;
    check.latencies = calloc(latencies, sizeof(*check.latencies));
    check.latency_room = check.latencies ? latencies : 0;
    return check.latencies != NULL;
}

void selftest_check_sent(const uint64_t sent[SELFTEST_KINDS])
{
    memcpy(check.sent, sent, sizeof(check.sent));
    atomic_store(&check.is_sent, true);
}

void selftest_check_end(struct selftest_seen *ret_seen)
{
    size_t count = check.latency_count < check.latency_room ? check.latency_count
                                                            : check.latency_room;
    if (count) {
        qsort(check.latencies, count, sizeof(*check.latencies), order_numbers);
        check.seen.p50_ns = check.latencies[count / 2];
        check.seen.p99_ns = check.latencies[count - 1 - count / 100];
        check.seen.max_ns = check.latencies[count - 1];
    }
    free(check.latencies);
    check.latencies = NULL;
    check.latency_room = 0;
    buf_fini(&check.expected);
    *ret_seen = check.seen;
}
