#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_HTTP_CLIENT_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_HTTP_CLIENT_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/http/http_client.h"
#include "support/http_fake.h"

/* Requests and replies over a scripted server. TLS: tests/integration/http.py. */

enum { SECOND_NS = 1000000000 };

struct fixture {
    struct http_fake *fake;
    struct http_client *client;
    struct http_reply reply;
    struct error err;
    bool stops;
    char body[4096]; /* of the reply */
    size_t body_size;
    char product[32];
};

static inline bool stopping(void *f)
{
    return ((struct fixture *)f)->stops;
}

static inline struct http_options usual(void)
{
    return (struct http_options){.proxy = "",
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 30 * (uint64_t)SECOND_NS};
}

static inline void make(struct fixture *f, const struct http_options *options, const char *scheme)
{
    *f = (struct fixture){.fake = http_fake_start()};
    f->client = http_client_create(
        &(struct http_client_setup){
            .options = options, .scheme = scheme, .stopping = stopping, .host = f},
        &f->err);
    assert_non_null(f->client);
}

static inline void setup(struct fixture *f)
{
    struct http_options options = usual();
    make(f, &options, NULL);
}

static inline void teardown(struct fixture *f)
{
    http_client_destroy(f->client);
    http_fake_stop(f->fake);
}

static inline bool take_body(void *f_, struct span piece)
{
    struct fixture *f = f_;
    assert_true(f->body_size + piece.size < sizeof(f->body));
    memcpy(f->body + f->body_size, piece.data, piece.size);
    f->body_size += piece.size;
    f->body[f->body_size] = '\0';
    return true;
}

static inline bool take_header(void *f_, struct span name, struct span value)
{
    struct fixture *f = f_;
    if (span_equal_nocase(name, span_text("x-product"))) {
        assert_true(value.size < sizeof(f->product));
        memcpy(f->product, value.data, value.size);
    }
    return true;
}

static inline bool post(struct fixture *f, const char *body)
{
    const struct span part = span_text(body);
    f->body_size = 0;
    f->body[0] = '\0';
    f->err = (struct error){0};
    return http_client_send(f->client,
        &(struct http_request){.method = "POST",
            .url = http_fake_url(f->fake),
            .parts = &part,
            .part_count = 1,
            .on_body = take_body,
            .on_header = take_header,
            .self = f},
        &f->reply, &f->err);
}

#endif
