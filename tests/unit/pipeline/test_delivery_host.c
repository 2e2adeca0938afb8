#include "pipeline/delivery_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "support/test.h"

/*
 * An output that follows a script, a letter per call of send: D delivered, R retry, C reconnect,
 * J rejected, F fatal, X closed, M mixed. Behind M a word of one letter per record follows: d, r, j
 * or - (says nothing). Behind the script everything is delivered. `log` has each call: `<` and `>`
 * for connect and disconnect, else what was sent.
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
    struct buf lost; /* `1+2j`: two records from 1 on; j rejected, o too old, u undelivered */
};

static void *fake_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct script *script = (struct script *)(uintptr_t)settings;
    assert_string_equal(env->name, "fake");
    if (script->no_create) {
        error_set(err, ERR_CONFIG, "no way");
        return NULL;
    }
    return script;
}

static bool fake_connect(void *self, struct error *err)
{
    struct script *script = self;
    buf_add_byte(&script->log, '<');
    if (script->connects_that_fail) {
        script->connects_that_fail--;
        return error_set(err, ERR_IO, "nobody there");
    }
    return true;
}

static void fake_disconnect(void *self)
{
    struct script *script = self;
    buf_add_byte(&script->log, '>');
}

static void fake_destroy(void *self)
{
    struct script *script = self;
    script->destroyed++;
}

static struct span record_of(const struct delivery *delivery, size_t i)
{
    uint32_t start = i ? delivery->record_ends[i - 1] : 0;
    return span_make(delivery->bytes.data + start, delivery->record_ends[i] - start);
}

static enum output_verdict mixed(
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
        default:
            break;
        }
    }
    error_set(&report->error, ERR_IO, "some failed");
    return OUTPUT_MIXED;
}

static enum output_verdict fake_send(
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
    buf_add_byte(&script->log, ')');
    error_set(&report->error, ERR_IO, "said no");
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

static bool fake_stopping(void *self)
{
    struct script *script = self;
    return script->stop_after && ++script->asked >= script->stop_after;
}

static void fake_warn(void *self, const char *output, const char *text)
{
    struct script *script = self;
    assert_string_equal(output, "fake");
    buf_printf(&script->warnings, "%s;", text);
}

static void fake_lost(void *self, size_t first, size_t count, enum delivery_loss why)
{
    static const char letters[] = {
        [DELIVERY_REJECTED] = 'j', [DELIVERY_TOO_OLD] = 'o', [DELIVERY_UNDELIVERED] = 'u'};
    struct script *script = self;
    buf_printf(&script->lost, "%zu+%zu%c ", first, count, letters[why]);
}

static struct delivery_host *start(
    struct script *script, const char *text, const struct output_ops *ops, bool give_up)
{
    script->at = text;
    buf_init(&script->log, 1 << 16);
    buf_init(&script->delivered, 1 << 16);
    buf_init(&script->warnings, 1 << 16);
    buf_init(&script->lost, 1 << 16);
    const struct delivery_host_settings settings = {.ops = ops,
        .settings = script,
        .name = "fake",
        .give_up = give_up,
        .stopping = fake_stopping,
        .warn = fake_warn,
        .lost = fake_lost,
        .self = script};
    struct delivery_host *host = delivery_host_create(&settings, NULL);
    assert_non_null(host);
    return host;
}

static void finish(struct script *script, struct delivery_host *host)
{
    delivery_host_destroy(host);
    assert_int_equal(script->destroyed, 1);
    buf_fini(&script->log);
    buf_fini(&script->delivered);
    buf_fini(&script->warnings);
    buf_fini(&script->lost);
}

/* Deliver the records of ${text}, one per word; the batch is gone as soon as deliver returns. */
static bool deliver(struct delivery_host *host, const char *text)
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

static void assert_counts(const struct delivery_host *host, uint64_t delivered, uint64_t rejected,
    uint64_t undelivered, uint64_t bytes, uint64_t retries)
{
    struct delivery_counts counts = delivery_host_counts(host);
    assert_int_equal(counts.delivered, delivered);
    assert_int_equal(counts.rejected, rejected);
    assert_int_equal(counts.undelivered, undelivered);
    assert_int_equal(counts.bytes, bytes);
    assert_int_equal(counts.retries, retries);
}

static void delivered_batches_are_counted(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "DD", &full_ops, false);
    assert_true(deliver(host, "one two"));
    assert_true(deliver(host, "three"));
    assert_true(deliver(host, ""));
    assert_span(buf_span(&script.log), "<(one,two)(three)");
    assert_counts(host, 3, 0, 0, 11, 0);
    assert_span(buf_span(&script.warnings), "");
    assert_false(delivery_host_closed(host));
    finish(&script, host);
}

static void an_output_without_connection_needs_none(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "CD", &bare_ops, false);
    assert_true(deliver(host, "one"));
    assert_span(buf_span(&script.log), "(one)(one)");
    assert_counts(host, 1, 0, 0, 3, 1);
    finish(&script, host);
}

static void an_output_that_cannot_be_made_says_why(void **state)
{
    (void)state;
    struct script script = {.no_create = true};
    const struct delivery_host_settings settings = {
        .ops = &full_ops, .settings = &script, .name = "fake"};
    struct error err = {0};
    assert_null(delivery_host_create(&settings, &err));
    assert_string_equal(err.text, "no way");
    delivery_host_destroy(NULL);
}

static void retry_keeps_the_batch_and_warns_once(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "RRD", &full_ops, false);
    assert_true(deliver(host, "one two"));
    assert_span(buf_span(&script.log), "<(one,two)(one,two)(one,two)");
    assert_span(buf_span(&script.delivered), "onetwo");
    assert_span(buf_span(&script.warnings), "said no;");
    assert_counts(host, 2, 0, 0, 6, 2);
    finish(&script, host);
}

static void a_new_series_of_failures_is_warned_of_again(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "RDRD", &full_ops, false);
    assert_true(deliver(host, "one"));
    assert_true(deliver(host, "two"));
    assert_span(buf_span(&script.warnings), "said no;said no;");
    finish(&script, host);
}

static void a_lost_connection_is_made_again(void **state)
{
    (void)state;
    struct script script = {.connects_that_fail = 1};
    struct delivery_host *host = start(&script, "CD", &full_ops, false);
    assert_true(deliver(host, "one"));
    assert_span(buf_span(&script.log), "<<(one)><(one)");
    assert_counts(host, 1, 0, 0, 3, 2);
    assert_span(buf_span(&script.warnings), "nobody there;");
    finish(&script, host);
}

static void a_rejected_batch_is_settled(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "JD", &full_ops, false);
    assert_true(deliver(host, "one two"));
    assert_true(deliver(host, "three"));
    assert_counts(host, 1, 2, 0, 5, 0);
    assert_span(buf_span(&script.warnings), "said no;");
    finish(&script, host);
}

static void a_partial_resend_keeps_order_and_bytes(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "MdrjrdrMrdrD", &full_ops, false);
    assert_true(deliver(host, "a bb ccc dddd eeeee ffffff"));
    assert_span(buf_span(&script.log), "<(a,bb,ccc,dddd,eeeee,ffffff)(bb,dddd,ffffff)(bb,ffffff)");
    assert_span(buf_span(&script.delivered), "aeeeeeddddbbffffff");
    assert_counts(host, 5, 1, 0, 18, 2);
    finish(&script, host);
}

static void what_is_lost_is_named_by_its_place_in_the_batch(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *lost;
    } cases[] = {{"D", ""}, {"J", "0+4j "}, {"F", "0+4u "}, {"RRJ", "0+4j "},
        {"Mjjjj", "0+1j 1+1j 2+1j 3+1j "}, {"MdrjrJ", "2+1j 1+1j 3+1j "},
        {"MrjrrMrdjMrJ", "1+1j 3+1j 0+1j "}, {"MrdrdMdjD", "2+1j "}, {"MrdrdF", "0+1u 2+1u "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script script = {.at = ""};
        struct delivery_host *host = start(&script, cases[i].script, &full_ops, false);
        deliver(host, "a bb ccc dddd");
        assert_span(buf_span(&script.lost), cases[i].lost);
        finish(&script, host);
    }
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "FD", &full_ops, false);
    assert_false(deliver(host, "a bb"));
    assert_false(deliver(host, "ccc dddd eeeee"));
    assert_span(buf_span(&script.lost), "0+2u 0+3u ");
    finish(&script, host);
}

static void a_mixed_answer_can_settle_everything(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "Mdj", &full_ops, false);
    assert_true(deliver(host, "a bb"));
    assert_span(buf_span(&script.log), "<(a,bb)");
    assert_counts(host, 1, 1, 0, 1, 0);
    finish(&script, host);
}

/* Statuses of the try before must not speak for a record that the output forgot. */
static void a_record_without_answer_is_sent_again(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "MddM-dD", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_true(deliver(host, "c d"));
    assert_span(buf_span(&script.log), "<(a,b)(c,d)(c)");
    assert_counts(host, 4, 0, 0, 4, 1);
    finish(&script, host);
}

static void a_fatal_output_takes_nothing_more(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "DFD", &full_ops, false);
    assert_true(deliver(host, "one"));
    assert_false(deliver(host, "two three"));
    assert_false(deliver(host, "four"));
    assert_false(deliver(host, ""));
    assert_span(buf_span(&script.log), "<(one)(two,three)");
    assert_counts(host, 1, 0, 3, 3, 0);
    assert_span(buf_span(&script.warnings), "said no;");
    assert_false(delivery_host_closed(host));
    finish(&script, host);
}

static void a_closed_output_ends_without_a_warning(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "X", &full_ops, false);
    assert_false(deliver(host, "one"));
    assert_true(delivery_host_closed(host));
    assert_counts(host, 0, 0, 1, 0, 0);
    assert_span(buf_span(&script.warnings), "");
    finish(&script, host);
}

static void a_host_that_gives_up_tries_once(void **state)
{
    (void)state;
    static const char *const scripts[] = {"R", "C", "Mdr", "F"};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct script script = {.at = ""};
        struct delivery_host *host = start(&script, scripts[i], &full_ops, true);
        assert_false(deliver(host, "one two"));
        assert_false(deliver(host, "three"));
        struct delivery_counts counts = delivery_host_counts(host);
        assert_int_equal(counts.delivered, *scripts[i] == 'M');
        assert_int_equal(counts.delivered + counts.undelivered, 3);
        assert_int_equal(counts.retries, 0);
        assert_true(script.warnings.size > 0);
        finish(&script, host);
    }
    /* Rejected records are settled: no failure of the output. */
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "JD", &full_ops, true);
    assert_true(deliver(host, "one"));
    assert_true(deliver(host, "two"));
    assert_counts(host, 1, 1, 0, 3, 0);
    finish(&script, host);
}

static void stopping_ends_the_wait_and_counts_what_is_left(void **state)
{
    (void)state;
    struct script script = {.stop_after = 1};
    struct delivery_host *host = start(&script, "MdrrRRRR", &full_ops, false);
    assert_true(deliver(host, "one two three"));
    assert_counts(host, 1, 0, 2, 3, 1);
    /* The output itself has not ended: the rest gets its one try each. */
    assert_true(deliver(host, "four"));
    script.at = "";
    assert_true(deliver(host, "five"));
    assert_counts(host, 2, 0, 3, 7, 2);
    finish(&script, host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delivered_batches_are_counted),
        cmocka_unit_test(an_output_without_connection_needs_none),
        cmocka_unit_test(an_output_that_cannot_be_made_says_why),
        cmocka_unit_test(retry_keeps_the_batch_and_warns_once),
        cmocka_unit_test(a_new_series_of_failures_is_warned_of_again),
        cmocka_unit_test(a_lost_connection_is_made_again),
        cmocka_unit_test(a_rejected_batch_is_settled),
        cmocka_unit_test(a_partial_resend_keeps_order_and_bytes),
        cmocka_unit_test(what_is_lost_is_named_by_its_place_in_the_batch),
        cmocka_unit_test(a_mixed_answer_can_settle_everything),
        cmocka_unit_test(a_record_without_answer_is_sent_again),
        cmocka_unit_test(a_fatal_output_takes_nothing_more),
        cmocka_unit_test(a_closed_output_ends_without_a_warning),
        cmocka_unit_test(a_host_that_gives_up_tries_once),
        cmocka_unit_test(stopping_ends_the_wait_and_counts_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
