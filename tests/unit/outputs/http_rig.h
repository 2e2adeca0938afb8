#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_HTTP_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_HTTP_RIG_H

#include "unit/outputs/output_rig.h"

#include "support/http_fake.h"

/* An output that delivers to one scripted server. */
struct http_rig {
    const struct output_ops *ops;
    const char *key; /* of the server's address */
    struct http_fake *fake;
    struct output_rig rig;
};

/* ${more}: further keys, with a comma before them. */
static inline void http_rig_start(struct http_rig *s, const char *more)
{
    char yaml[400];
    s->fake = http_fake_start();
    snprintf(yaml, sizeof(yaml), "{%s: '%s', proxy: '', compression: none%s}", s->key,
        http_fake_url(s->fake), more);
    rig_setup(&s->rig, s->ops, yaml);
}

static inline void http_rig_stop(struct http_rig *s)
{
    rig_teardown(&s->rig);
    http_fake_stop(s->fake);
    s->fake = NULL;
}

/* The body of request ${index}, which ends with a NUL. */
static inline const char *http_rig_body(const struct http_rig *s, size_t index)
{
    return (const char *)http_fake_request(s->fake, index)->body.data;
}

/* `test-output` says ${words} of a server that answers with ${reply}. Its one request had
 * ${body}. */
static inline void http_rig_assert_found(struct http_rig *s, const char *more,
    const struct http_fake_reply *reply, bool good, const char *words, struct span body)
{
    char yaml[400];
    s->fake = http_fake_start();
    http_fake_script(s->fake, reply, 1);
    snprintf(yaml, sizeof(yaml), "{%s: '%s', proxy: ''%s}", s->key, http_fake_url(s->fake), more);
    assert_int_equal(rig_examine(&s->rig, s->ops, yaml), good);
    if (!strstr(s->rig.findings, words)) {
        fail_msg("no \"%s\" in: %s", words, s->rig.findings);
    }
    assert_int_equal(http_fake_count(s->fake), 1);
    assert_true(span_equal(http_fake_request(s->fake, 0)->body, body));
    http_fake_stop(s->fake);
    s->fake = NULL;
}

#endif
