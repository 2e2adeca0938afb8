#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_ES_SENDER_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_ES_SENDER_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "event/model/record.h"
#include "outputs/delivery_id.h"
#include "outputs/elasticsearch/es_sender.h"
#include "support/bulk_fake.h"

/* A sender, and the store on loopback to which it delivers; tests tell the store how to fail. */

enum { MAX_RECORDS = 200, RECORD_BYTES = 16, SECOND_NS = 1000000000 };

struct fixture {
    struct bulk_fake *fake;
    struct bulk_fake *other; /* a second node */
    struct es_sender *sender;
    struct buf rejections; /* "record status type reason index\n" */
    struct output_report report;
    enum record_status records[MAX_RECORDS];
    uint32_t ends[MAX_RECORDS];
    struct record_position positions[MAX_RECORDS];
    struct delivery_ids ids;
    struct buf bytes;
    struct delivery delivery;
    int stop_after; /* questions; -1: never */
    bool typed;
    char warning[1024];
};

static inline void on_warning(void *f_, const char *text)
{
    struct fixture *f = f_;
    snprintf(f->warning, sizeof(f->warning), "%s", text);
}

static inline bool stopping(void *f_)
{
    struct fixture *f = f_;
    return f->stop_after >= 0 && f->stop_after-- <= 0;
}

/* ${beside}: the address of a second node; "same": the first one's in another spelling. */
static inline void make(struct fixture *f, bool second_node, const char *beside)
{
    char same[64];
    const char *urls[2] = {bulk_fake_url(f->fake), beside};
    const struct config_strings hosts = {.items = urls, .count = second_node || beside ? 2 : 1};
    if (beside && strcmp(beside, "same") == 0) {
        snprintf(same, sizeof(same), "%s/", urls[0]);
        urls[1] = same;
    }
    if (second_node) {
        f->other = bulk_fake_start();
        urls[1] = bulk_fake_url(f->other);
    }
    const struct http_options http = {.proxy = "",
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 60 * (uint64_t)SECOND_NS};
    char index[] = "etw"; /* invalid after the call */
    const struct es_sender_options options = {.hosts = &hosts,
        .http = &http,
        .bulk = {.action = "create", .ids = true, .name = {.index = index}},
        .format = "native",
        .typed = f->typed};
    const struct output_env env = {
        .name = "siem", .stopping = stopping, .warn = f->typed ? on_warning : NULL, .host = f};
    f->sender = es_sender_create(&options, &env, &f->report.error);
    assert_non_null(f->sender);
    memset(index, 'x', sizeof(index) - 1);
}

/* ${count} records {"n":0001} and so on, each with an id of its own. */
static inline void prepare(struct fixture *f, size_t count)
{
    buf_reset(&f->bytes);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&f->bytes, "{\"n\":%04zu}\n", i);
        f->ends[i] = (uint32_t)f->bytes.size;
    }
    f->delivery = (struct delivery){.bytes = buf_span(&f->bytes),
        .record_ends = f->ends,
        .record_count = count,
        .ids = &f->ids};
}

static inline void setup_nodes(
    struct fixture *f, size_t count, bool second_node, const char *beside)
{
    *f = (struct fixture){.ids = {.epoch = 1}, .stop_after = -1};
    buf_init(&f->rejections, 1 << 20);
    buf_init(&f->bytes, 1 << 20);
    f->fake = bulk_fake_start();
    make(f, second_node, beside);
    prepare(f, count);
}

static inline void setup(struct fixture *f, size_t count)
{
    setup_nodes(f, count, false, NULL);
}

static inline void teardown(struct fixture *f)
{
    es_sender_destroy(f->sender);
    bulk_fake_stop(f->fake);
    bulk_fake_stop(f->other);
    buf_fini(&f->rejections);
    buf_fini(&f->bytes);
}

static inline void on_reject(void *f_, size_t record, const struct output_rejection *why)
{
    struct fixture *f = f_;
    buf_printf(&f->rejections, "%zu %d %.*s|%.*s|%.*s\n", record, why->status, SPAN_ARG(why->type),
        SPAN_ARG(why->reason), SPAN_ARG(why->index));
}

static inline enum output_verdict send_all(struct fixture *f)
{
    buf_reset(&f->rejections);
    memset(f->records, 0x5a, sizeof(f->records));
    f->report = (struct output_report){.records = f->records, .reject = on_reject, .host = f};
    enum output_verdict verdict = es_sender_send(f->sender, &f->delivery, &f->report);
    assert_int_equal(verdict == OUTPUT_DELIVERED, f->report.error.code == ERR_NONE);
    return verdict;
}

static inline void assert_stored(struct bulk_fake *fake, size_t first, size_t count)
{
    char *text = bulk_fake_documents(fake, true);
    assert_int_equal(strlen(text), count * 11);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strtoul(text + i * 11 + 5, NULL, 10), first + i);
    }
    free(text);
}

static inline void assert_records(
    const struct fixture *f, size_t first, size_t end, enum record_status s)
{
    for (size_t i = first; i < end; i++) {
        assert_int_equal(f->records[i], s);
    }
}

static inline void assert_said(const struct fixture *f, const char *words)
{
    if (!strstr(f->report.error.text, words)) {
        fail_msg("got \"%s\", expected \"%s\"", f->report.error.text, words);
    }
}

#endif
