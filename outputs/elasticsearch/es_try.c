#include "outputs/elasticsearch/es_try.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_winner.h"
#include "outputs/http/http_try.h"
#include "outputs/json_scan.h"

struct run {
    const struct es_setup *setup;
    struct http_try found;
    struct http_client *client;
    struct es_server server;
    struct es_response response;
};

/* ---- a node ---------------------------------------------------------------------------------- */

static void tell_server(struct run *run, const char *url)
{
    int status = run->response.reply.status;
    char words[ES_ASK_MAX_WORDS];
    es_setup_server(&run->response, &run->server);
    if (run->server.version[0]) {
        http_try_tell(&run->found, OUTPUT_FOUND_GOOD, "%s: it is %s %s", url,
            run->server.opensearch ? "OpenSearch" : "Elasticsearch", run->server.version);
    } else if (status == 401) {
        es_response_words(&run->response, words);
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT,
            "%s: the server refuses access: %s. check auth: user and password, or the key", url,
            words);
    } else if (status == 403) {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "%s: no right to read its version. this is not an error: the test document shows more",
            url);
    } else if (status >= 500) {
        es_response_words(&run->response, words);
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT,
            "%s: the server has a fault: %s. see its log", url, words);
    } else {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "%s: it does not report its version (status %d), as with Serverless and proxies. this "
            "is not an error",
            url, status);
    }
}

/* The highest layer that works. */
static bool try_node(struct run *run, const char *url)
{
    struct error err;
    bool tls = strncmp(url, "https://", 8) == 0;
    if (es_ask(run->client, url, "GET", "/", span_make(NULL, 0), &run->response, &err)) {
        bool trusted = run->setup->http->tls.verify == HTTP_VERIFY_FULL;
        http_try_tell(&run->found, OUTPUT_FOUND_GOOD, "%s: connected%s", url,
            !tls      ? ", without TLS"
            : trusted ? ", its certificate is trusted"
                      : "; tls.verify disables the check of its certificate");
        tell_server(run, url);
        return run->response.reply.status != 401;
    }
    const char *layer = http_failure_layer(run->response.reply.failure);
    http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s: %s%s", layer ? layer : "reply (HTTP)",
        err.text, layer || tls ? "" : ". if the server speaks TLS, write https://");
    return false;
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* The members that are false in a reply of the privileges API. */
struct lacks {
    const struct es_response *response;
    char text[512];
    struct es_shown key;
};

static bool note_false(void *self, enum json_token token, struct span text)
{
    struct lacks *lacks = self;
    if (token == JSON_KEY) {
        es_response_show(lacks->response, text, &lacks->key);
    } else if (token == JSON_WORD && span_is(text, "false") &&
               strcmp(lacks->key.text, "has_all_requested") != 0) {
        size_t at = strlen(lacks->text);
        snprintf(
            lacks->text + at, sizeof(lacks->text) - at, "%s%s", at ? ", " : "", lacks->key.text);
    }
    return true;
}

/* Elasticsearch with security reports it; for others the test document shows it. */
static void try_rights(struct run *run, const char *url, const struct es_setup_names *names)
{
    struct buf body;
    struct error err;
    struct lacks lacks = {.response = &run->response};
    struct json_scan scan;
    char words[16] = "";
    buf_init(&body, 2048);
    buf_printf(&body,
        "{\"cluster\":[\"monitor\"],\"index\":[{\"names\":[\"%s\"],"
        "\"privileges\":[\"create_doc\",\"auto_configure\"]}]}",
        names->target);
    bool asked = !run->server.opensearch &&
                 es_ask(run->client, url, "POST", "/_security/user/_has_privileges",
                     buf_span(&body), &run->response, &err) &&
                 run->response.reply.status == 200 &&
                 es_response_value(&run->response, "has_all_requested", words, sizeof(words));
    buf_fini(&body);
    if (!asked) {
        return;
    }
    if (strcmp(words, "true") == 0) {
        http_try_tell(&run->found, OUTPUT_FOUND_GOOD, "rights: all that shipping needs for %s",
            names->target);
        return;
    }
    json_scan_init(&scan, note_false, &lacks);
    json_scan_feed(&scan, buf_span(&run->response.body));
    http_try_tell(&run->found, OUTPUT_FOUND_FAULT,
        "rights: for %s the user or key lacks: %s. add these privileges", names->target,
        lacks.text);
}

/* ---- the template ---------------------------------------------------------------------------- */

static void tell_current(struct run *run, const struct es_setup_names *names, const char *url)
{
    struct es_winner winner;
    struct error text;
    if (es_winner_find(names, run->client, url, &run->response, &winner)) {
        es_winner_say(&winner, names, &run->response, &text);
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s", text.text);
    } else {
        http_try_tell(&run->found, OUTPUT_FOUND_GOOD, "index template %s is in place", names->name);
    }
}

static void try_template(struct run *run, const char *url)
{
    struct es_setup_check check;
    const struct es_setup_names *names = &check.names;
    es_setup_check_init(run->setup, &check);
    const char *name = run->found.talk->name;
    switch (es_setup_state(&check, run->client, url, &run->response)) {
    case ES_TEMPLATE_CURRENT:
        tell_current(run, names, url);
        break;
    case ES_TEMPLATE_MISSING:
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT,
            "index template %s is missing: events may be refused. run: etwship setup %s",
            names->name, name);
        break;
    case ES_TEMPLATE_OTHER:
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "index template %s differs from that of this version. run: etwship setup %s",
            names->name, name);
        break;
    case ES_TEMPLATE_UNKNOWN:
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "index template %s: the server does not say whether it exists (status %d). the right "
            "to read templates is not needed for shipping",
            names->name, run->response.reply.status);
        break;
    }
    const char *words = es_setup_stray(run->setup, names, run->client, url, &run->response);
    if (words) {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE, "%s: %s", names->pattern, words);
    }
}

bool es_try_run(const struct es_setup *setup, const struct output_talk *talk)
{
    struct error err;
    struct es_setup_names names;
    struct run run = {.setup = setup, .found.talk = talk};
    const char *url = NULL;
    struct es_server server = {.known = false};
    es_setup_names(setup, &names);
    run.client = http_client_create(
        &(struct http_client_setup){
            .options = setup->http, .note = http_try_note, .host = &run.found},
        &err);
    run.found.client = run.client;
    if (!run.client) {
        return http_try_tell(&run.found, OUTPUT_FOUND_FAULT, "%s", err.text);
    }
    es_response_init(&run.response);
    for (size_t i = 0; i < setup->hosts->count; i++) {
        if (try_node(&run, setup->hosts->items[i]) && !url) {
            url = setup->hosts->items[i];
            server = run.server;
        }
    }
    if (url) {
        run.server = server;
        try_rights(&run, url, &names);
        try_template(&run, url);
    }
    es_response_fini(&run.response);
    http_client_destroy(run.client);
    return !run.found.faulty;
}
