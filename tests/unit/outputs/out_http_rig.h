#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_OUT_HTTP_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_OUT_HTTP_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/outputs.h"
#include "support/http_fake.h"

/* The output against a scripted server. test_conformance.c tests what every output promises. */

enum { MAX_RECORDS = 256, TEXT_BYTES = 8192 };

struct rejected {
    size_t record;
    int status;
    char reason[400];
};

struct fixture {
    struct http_fake *fake;
    void *self;
    struct output_report report;
    enum record_status records[MAX_RECORDS];
    struct rejected rejected[MAX_RECORDS];
    size_t rejected_count;
    bool stops;
    /* What the server does. */
    size_t limit_bytes;      /* of a body; 0: none */
    bool breaks;             /* the connection for a larger one; else 413 */
    const char *bad;         /* 400 for a body that holds it; NULL: none */
    size_t obeys;            /* it accepts this many, then answers 503; 0: all */
    size_t fails_at;         /* 503 for this one of all requests; 0: none */
    char stored[TEXT_BYTES]; /* the bodies that it accepted */
};

static inline bool stopping(void *f)
{
    return ((struct fixture *)f)->stops;
}

static inline void reject(void *f_, size_t record, const struct output_rejection *why)
{
    struct fixture *f = f_;
    struct rejected *r = &f->rejected[f->rejected_count++];
    r->record = record;
    r->status = why->status;
    snprintf(r->reason, sizeof(r->reason), "%.*s", SPAN_ARG(why->reason));
}

/* ${more}: further keys, with a comma before them. */
static inline void setup(struct fixture *f, const char *path, const char *more)
{
    char yaml[512];
    struct config_report report;
    struct error err = {0};
    *f = (struct fixture){.fake = http_fake_start()};
    snprintf(yaml, sizeof(yaml), "{url: '%s%s', proxy: ''%s}", http_fake_url(f->fake), path, more);
    config_report_init(&report);
    struct config *config = config_create(NULL, NULL);
    void *settings = config_parse(
        config, span_text(yaml), "test", output_http.fields, output_http.settings_size, &report);
    assert_true(config_report_ok(&report));
    config_report_fini(&report);
    assert_true(config_check_first(output_http.check, settings, &err));
    f->self = output_http.create(
        settings, &(struct output_env){.name = "test", .stopping = stopping, .host = f}, &err);
    assert_non_null(f->self);
    config_destroy(config);
}

static inline void teardown(struct fixture *f)
{
    output_http.destroy(f->self);
    http_fake_stop(f->fake);
}

static inline enum output_verdict send_lines(struct fixture *f, const char *lines)
{
    uint32_t ends[MAX_RECORDS];
    struct delivery delivery = {.bytes = span_text(lines), .record_ends = ends};
    for (uint32_t i = 0; lines[i]; i++) {
        if (lines[i] == '\n') {
            ends[delivery.record_count++] = i + 1;
        }
    }
    memset(f->records, 0x5a, sizeof(f->records));
    f->rejected_count = 0;
    f->report = (struct output_report){.records = f->records, .reject = reject, .host = f};
    enum output_verdict verdict = output_http.send(f->self, &delivery, &f->report);
    assert_int_equal(verdict == OUTPUT_DELIVERED, f->report.error.code == ERR_NONE);
    return verdict;
}

/* Lines of 10 bytes: {"n":1000} and a line break make 11. */
static inline const char *numbered(size_t count)
{
    static char lines[TEXT_BYTES];
    size_t at = 0;
    lines[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(lines + at, sizeof(lines) - at, "{\"n\":%zu}\n", 1000 + i);
    }
    return lines;
}

static inline void serve(
    void *f_, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    struct fixture *f = f_;
    const char *body = (const char *)request->body.data;
    if (f->limit_bytes && request->body.size > f->limit_bytes) {
        ret_reply->status = f->breaks ? 0 : 413;
    } else if (f->fails_at && http_fake_count(f->fake) == f->fails_at) {
        ret_reply->status = 503;
    } else if (f->bad && strstr(body, f->bad)) {
        ret_reply->status = 400;
        ret_reply->body = "{\"text\":\"Invalid\r\ndata\"}";
    } else if (f->obeys && f->obeys-- == 1) {
        ret_reply->status = 503;
        ret_reply->headers = "Retry-After: 3\r\n";
    } else {
        assert_true(strlen(f->stored) + request->body.size < TEXT_BYTES);
        strncat(f->stored, body, request->body.size);
    }
}

static inline void setup_store(struct fixture *f)
{
    setup(f, "/in", "");
    http_fake_handle(f->fake, serve, f);
}

#endif
