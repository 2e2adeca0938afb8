#include "outputs/elasticsearch/es_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/elasticsearch/es_hosts.h"
#include "outputs/http/http_status.h"

/* Short timeout, as the answer is not essential. */
#define LONGEST_NS UINT64_C(5000000000)

struct es_watch {
    struct output_env env;
    char *name; /* of the output */
    struct http_client *client;
    struct es_hosts hosts;
    struct es_setup_check check;
    size_t turn;
    bool done;
};

static bool copy(
    struct es_watch *watch, const struct es_setup *setup, const char *name, struct error *err)
{
    struct http_options http = *setup->http;
    http.connect_timeout_ns = http.connect_timeout_ns < LONGEST_NS ? http.connect_timeout_ns
                                                                   : LONGEST_NS;
    http.timeout_ns = http.timeout_ns < LONGEST_NS ? http.timeout_ns : LONGEST_NS;
    const struct http_client_setup client = {
        .options = &http, .stopping = watch->env.stopping, .host = watch->env.host};
    watch->name = span_copy(span_text(name));
    if (!watch->name) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    es_setup_check_init(setup, &watch->check);
    watch->client = http_client_create(&client, err);
    return watch->client && es_hosts_init(&watch->hosts, setup->hosts, 0, err);
}

struct es_watch *es_watch_create(
    const struct es_setup *setup, const struct output_env *env, struct error *err)
{
    struct es_watch *watch = calloc(1, sizeof(*watch));
    if (!watch) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    watch->env = *env;
    watch->done = !env->warn;
    if (!copy(watch, setup, env->name ? env->name : "NAME", err)) {
        es_watch_destroy(watch);
        return NULL;
    }
    return watch;
}

void es_watch_destroy(struct es_watch *watch)
{
    if (!watch) {
        return;
    }
    es_hosts_fini(&watch->hosts);
    http_client_destroy(watch->client);
    free(watch->name);
    free(watch);
}

static void tell(const struct es_watch *watch, enum es_template_state state)
{
    const struct es_setup_names *names = &watch->check.names;
    char text[1024];
    if (state == ES_TEMPLATE_MISSING) {
        snprintf(text, sizeof(text),
            "index template %s is missing: unless another one is meant for %s, the server guesses "
            "the types of fields and refuses events that do not fit. run: etwship setup %s",
            names->name, names->pattern, watch->name);
    } else {
        snprintf(text, sizeof(text),
            "index template %s differs from that of this version. run: etwship setup %s",
            names->name, watch->name);
    }
    watch->env.warn(watch->env.host, text);
}

/* True if a reply without the template is final. A server that starts up, is overloaded, or gets
 * its password corrected answers later. */
static bool is_final(const struct http_reply *reply)
{
    int status = reply->status;
    return reply->failure == HTTP_REPLIED && status != 401 && status != 407 &&
           http_status_verdict(status) != HTTP_LATER;
}

void es_watch_look(struct es_watch *watch)
{
    struct es_response response;
    if (watch->done) {
        return;
    }
    es_response_init(&response);
    const char *url = watch->hosts.items[watch->turn++ % watch->hosts.count].url;
    enum es_template_state state = es_setup_state(&watch->check, watch->client, url, &response);
    watch->done = state != ES_TEMPLATE_UNKNOWN || is_final(&response.reply);
    if (state == ES_TEMPLATE_MISSING || state == ES_TEMPLATE_OTHER) {
        tell(watch, state);
    }
    es_response_fini(&response);
    /* No more requests are sent over it. */
    http_client_disconnect(watch->client);
}
