#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_ES_SETUP_RIG_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_ES_SETUP_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/elasticsearch/es_try.h"
#include "outputs/elasticsearch/es_watch.h"
#include "support/http_fake.h"

/* `setup` and `test-output` against a scripted server, in states that real ones are seldom in
 * (hidden, old, without rights, with lifecycles). Real ones: tests/integration/opensearch. */

enum { SECOND_NS = 1000000000, MAX_FINDINGS = 8192 };

#define OPENSEARCH "{\"version\":{\"distribution\":\"opensearch\",\"number\":\"2.19.6\"}}"
#define ELASTICSEARCH "{\"version\":{\"number\":\"8.19.0\"},\"tagline\":\"You Know, for Search\"}"

struct server {
    const char *root; /* reply to GET /; NULL: it is hidden */
    int root_status;
    const char *headers;
    const char *lacks; /* a type of fields, named in the body of a PUT */
    int put_status;    /* 0: the usual status */
    const char *put_body;
    const char *privileges; /* NULL: no such API */
    const char *resolved;   /* the reply to a question for indices; NULL: 404 */
    const char *simulated;  /* the reply to a simulation of logs-etw.events-default; NULL: 404 */
    const char *listed;     /* the list of all index templates; NULL: 404 */
    char template[64 * 1024];
    char policy[4096];
    char refusal[256];
    unsigned puts;
};

struct fixture {
    struct http_fake *fake;
    struct server server;
    const char *urls[2];
    struct config_strings hosts;
    struct http_options http;
    struct es_lifecycle lifecycle;
    struct es_setup setup;
    struct output_talk talk;
    char findings[MAX_FINDINGS]; /* a line each: '+', ' ' or '-' and the text */
    char shown[64 * 1024];
};

static inline bool starts(const struct http_fake_request *request, const char *text)
{
    return strncmp(request->head, text, strlen(text)) == 0;
}

static inline void put_template(
    struct server *server, const struct http_fake_request *request, struct http_fake_reply *reply)
{
    const char *body = (const char *)request->body.data;
    if (server->put_status) {
        *reply = (struct http_fake_reply){.status = server->put_status, .body = server->put_body};
    } else if (server->lacks && strstr(body, server->lacks)) {
        snprintf(server->refusal, sizeof(server->refusal),
            "{\"error\":{\"type\":\"mapper_parsing_exception\",\"reason\":\"No handler for type "
            "[%s] declared on field [x]\"},\"status\":400}",
            server->lacks);
        *reply = (struct http_fake_reply){.status = 400, .body = server->refusal};
    } else {
        server->puts++;
        snprintf(server->template, sizeof(server->template), "%s", body);
        *reply = (struct http_fake_reply){.status = 200, .body = "{\"acknowledged\":true}"};
    }
}

static inline void answer(
    void *server_, const struct http_fake_request *request, struct http_fake_reply *reply)
{
    struct server *server = server_;
    reply->headers = server->headers;
    reply->status = 404;
    reply->body = "{\"error\":\"nothing there\",\"status\":404}";
    if (starts(request, "GET / ")) {
        reply->status = server->root_status;
        reply->body = server->root ? server->root : "";
    } else if (starts(request, "GET /_index_template/") && server->template[0]) {
        *reply = (struct http_fake_reply){.status = 200, .body = server->template};
    } else if (starts(request, "GET /_resolve/index/logs-etw.events-* ") && server->resolved) {
        *reply = (struct http_fake_reply){.status = 200, .body = server->resolved};
    } else if (starts(request, "POST /_index_template/_simulate_index/logs-etw.events-default ") &&
               server->simulated) {
        *reply = (struct http_fake_reply){.status = 200, .body = server->simulated};
    } else if (starts(request, "GET /_index_template?filter_path=") && server->listed) {
        *reply = (struct http_fake_reply){.status = 200, .body = server->listed};
    } else if (starts(request, "PUT /_index_template/")) {
        put_template(server, request, reply);
    } else if (starts(request, "POST /_security/user/_has_privileges ") && server->privileges) {
        *reply = (struct http_fake_reply){.status = 200, .body = server->privileges};
    } else if (starts(request, "GET /_plugins/_ism/policies/") && server->policy[0]) {
        *reply = (struct http_fake_reply){
            .status = 200, .body = "{\"_id\":\"x\",\"_seq_no\":7,\"_primary_term\":2}"};
    } else if (starts(request, "PUT /_ilm/policy/") || starts(request, "PUT /_plugins/_ism/")) {
        snprintf(server->policy, sizeof(server->policy), "%.200s\n%s", request->head,
            (const char *)request->body.data);
        *reply = (struct http_fake_reply){.status = 200, .body = "{}"};
    }
}

static inline void say(void *f_, enum output_finding finding, const char *text)
{
    static const char marks[] = {
        [OUTPUT_FOUND_GOOD] = '+', [OUTPUT_FOUND_NOTE] = ' ', [OUTPUT_FOUND_FAULT] = '-'};
    struct fixture *f = f_;
    size_t at = strlen(f->findings);
    snprintf(f->findings + at, sizeof(f->findings) - at, "%c%s\n", marks[finding], text);
}

static inline void show(void *f_, const char *method, const char *path, struct span body)
{
    struct fixture *f = f_;
    size_t at = strlen(f->shown);
    snprintf(f->shown + at, sizeof(f->shown) - at, "%s %s\n%.*s\n", method, path, (int)body.size,
        (const char *)body.data);
}

static inline struct fixture *start(const char *root)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->fake = http_fake_start();
    f->server.root = root;
    f->server.root_status = root ? 200 : 404;
    http_fake_handle(f->fake, answer, &f->server);
    f->urls[0] = http_fake_url(f->fake);
    f->hosts = (struct config_strings){.items = f->urls, .count = 1};
    f->http = (struct http_options){.proxy = "",
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 30 * (uint64_t)SECOND_NS};
    f->setup = (struct es_setup){
        .hosts = &f->hosts, .http = &f->http, .lifecycle = &f->lifecycle, .format = "ecs"};
    f->talk = (struct output_talk){
        .name = "siem", .format = "ecs", .say = say, .show = show, .host = f};
    return f;
}

static inline void stop(struct fixture *f)
{
    http_fake_stop(f->fake);
    free(f);
}

static inline bool run(struct fixture *f)
{
    f->findings[0] = '\0';
    return es_setup_run(&f->setup, &f->talk);
}

static inline bool try(struct fixture *f)
{
    f->findings[0] = '\0';
    return es_try_run(&f->setup, &f->talk);
}

static inline void assert_says(const struct fixture *f, const char *text)
{
    if (!strstr(f->findings, text)) {
        fail_msg("not said: %s, but: %s", text, f->findings);
    }
}

#endif
