#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_HEC_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_HEC_RIG_H

#include "unit/outputs/output_rig.h"

#include "support/http_fake.h"

/* A scripted collector. */

enum { STORE_BYTES = 16384, MAX_ACKS = 64 };

static struct {
    struct http_fake *fake;
    struct output_rig rig;
    struct http_fake_reply answer; /* to events; status 0 and no body: as Splunk answers */
    bool acks;                     /* give an ackId */
    const char *ack_body;          /* instead of the acknowledgements; NULL: none */
    int ack_status;                /* of that */
    bool never;                    /* nothing is ever indexed */
    unsigned same_ack;             /* every request gets this number; 0: each its own */
    const char *bad;               /* refuse an event that contains this, and name it; NULL: none */
    int bad_code;
    bool unnamed; /* the refusal does not name the event */
    unsigned next_ack;
    unsigned asked; /* requests for acknowledgements of events */
    unsigned posts;
    char stored[STORE_BYTES];
    char channels[MAX_ACKS][40]; /* of each post */
    char asked_on[40];           /* channel of the last question for acknowledgements */
    char tried_on[40];           /* channel of the last such request before an event */
    char body[STORE_BYTES];      /* of the reply */
} s;

static inline void copy_channel(const struct http_fake_request *request, char *to)
{
    static const char name[] = "X-Splunk-Request-Channel: ";
    const char *at = strstr(request->head, name);
    snprintf(to, 40, "%.36s", at ? at + sizeof(name) - 1 : "");
}

/* Every number of the question is indexed. */
static inline void answer_acks(
    const struct http_fake_request *request, struct http_fake_reply *reply)
{
    if (s.ack_body) {
        reply->status = s.ack_status;
        reply->body = s.ack_body;
        return;
    }
    size_t at = (size_t)snprintf(s.body, sizeof(s.body), "{\"acks\":{");
    const char *c = strchr((const char *)request->body.data, '[');
    const char *comma = "";
    s.asked++;
    while (c && *c && *c != ']') {
        char *end;
        long id = strtol(c + 1, &end, 10);
        at += (size_t)snprintf(s.body + at, sizeof(s.body) - at, "%s\"%ld\":%s", comma, id,
            s.never || id == 0 ? "false" : "true");
        comma = ",";
        c = end;
    }
    snprintf(s.body + at, sizeof(s.body) - at, "}}");
    reply->body = s.body;
}

static inline bool refuses(const char *body, struct http_fake_reply *reply)
{
    const char *at = s.bad ? strstr(body, s.bad) : NULL;
    unsigned number = 0;
    for (const char *c = body; at && c < at; c++) {
        number += *c == '\n';
    }
    if (at) {
        char named[64] = "";
        snprintf(named, sizeof(named), ",\"invalid-event-number\":%u", number);
        snprintf(s.body, sizeof(s.body), "{\"text\":\"No\",\"code\":%d%s}", s.bad_code,
            s.unnamed ? "" : named);
        reply->status = 400;
        reply->body = s.body;
    }
    return at != NULL;
}

static inline void serve(
    void *self, const struct http_fake_request *request, struct http_fake_reply *reply)
{
    (void)self;
    if (strncmp(request->head, "POST /services/collector/ack ", 29) == 0) {
        copy_channel(request, s.asked_on);
        memcpy(s.tried_on, s.posts ? s.tried_on : s.asked_on, sizeof(s.tried_on));
        answer_acks(request, reply);
        return;
    }
    if (strncmp(request->head, "GET ", 4) == 0) {
        reply->body = "{\"text\":\"HEC is healthy\",\"code\":17}";
        return;
    }
    copy_channel(request, s.channels[s.posts++ % MAX_ACKS]);
    if (s.answer.status) {
        *reply = s.answer;
        return;
    }
    if (refuses((const char *)request->body.data, reply)) {
        return;
    }
    strncat(s.stored, (const char *)request->body.data, sizeof(s.stored) - strlen(s.stored) - 1);
    snprintf(s.body, sizeof(s.body),
        s.acks ? "{\"text\":\"Success\",\"code\":0,\"ackId\":%u}"
               : "{\"text\":\"Success\",\"code\":0}",
        s.same_ack ? s.same_ack : ++s.next_ack);
    reply->body = s.body;
}

static inline const char *yaml(const char *more)
{
    static char text[1024];
    snprintf(text, sizeof(text), "{urls: ['%s'], token: 1234-5678, proxy: '', compression: none%s}",
        http_fake_url(s.fake), more);
    return text;
}

static inline void begin(const char *more)
{
    memset(&s, 0, sizeof(s));
    s.fake = http_fake_start();
    http_fake_handle(s.fake, serve, NULL);
    rig_setup(&s.rig, &output_splunk_hec, yaml(more));
}

static inline void end(void)
{
    rig_teardown(&s.rig);
    http_fake_stop(s.fake);
}

static const char with_acks[] = ", ack: {enabled: true, interval: 1ms, timeout: 40ms}";
/* A wait for acknowledgements. It only catches hangs, and measures nothing. */
static const char with_long_acks[] = ", ack: {enabled: true, interval: 1ms, timeout: 60s}";

#endif
