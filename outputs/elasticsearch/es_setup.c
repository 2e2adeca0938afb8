#include "outputs/elasticsearch/es_setup.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_winner.h"
#include "outputs/http/http_try.h"

/*
 * Idempotent: a template contains a hash of its text as a mark; one with the current mark is kept,
 * any other is replaced.
 *
 * The dialect follows from GET /. If that is forbidden (Serverless, proxies) or a server lacks a
 * type (old or reduced ones), the next possible template is tried: a server refuses unknown types.
 */

/* ---- settings -------------------------------------------------------------------------------- */

static const char *const timestamps_names[] = {"date", "date_nanos", NULL};
static const char *const fields_names[] = {"flattened", "typed", NULL};

// clang-format off
const struct config_field es_setup_fields[] = {
    {CONFIG_ROW("timestamps", ENUM, struct es_types, timestamps), .names = timestamps_names,
        .default_text = "date",
        .help = "type of @timestamp and other times: date sorts by milliseconds; date_nanos by the 100 ns of events, from 1970 to 2262: a time outside gets the nearest one, and its own is under overflow"},
    {CONFIG_ROW("fields", ENUM, struct es_types, fields), .names = fields_names,
        .default_text = "flattened",
        .help = "payloads: flattened, one field in which everything is searchable as text; typed, each field of a known definition has its type, so that numbers, times and addresses are searchable by ranges, and fields without a definition are stored but not searchable"},
    {CONFIG_ROW("max_fields", INT, struct es_types, max_fields), .default_text = "1000",
        .min = 400, .max = 5000,
        .help = "typed: maximum of fields of an index, including those outside of payloads; other than 1000, the servers' own limit, it is set in the template"},
    {.key = NULL},
};
// clang-format on

void es_setup_check_types(struct config_check *check, const struct es_types *types)
{
    if (types->fields != ES_TYPED && types->max_fields != ES_TEMPLATE_USUAL_FIELDS) {
        CONFIG_FAULT(check, &types->max_fields,
            "setup.max_fields: payloads are one field without `fields: typed`. remove it, or write "
            "fields: typed");
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The text before the first field or date. */
static size_t literal_size(const char *text)
{
    return strcspn(text, "{%");
}

static void escape(const char *text, char *ret_path, size_t room)
{
    size_t at = strlen(ret_path);
    for (; *text && at + 4 < room; text++) {
        uint8_t c = (uint8_t)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '-';
        at += (size_t)snprintf(ret_path + at, room - at, plain ? "%c" : "%%%02X", c);
    }
}

void es_setup_names(const struct es_setup *setup, struct es_setup_names *ret_names)
{
    const char *what = setup->index                        ? setup->index
                       : setup->dataset                    ? setup->dataset
                       : strcmp(setup->format, "ecs") == 0 ? "etw.events"
                                                           : "etw.native";
    int size = (int)literal_size(what);
    bool whole = what[size] == '\0';
    bool exact = whole && setup->index && !setup->alias;
    const char *rest = exact ? "" : whole ? "-*" : "*";
    *ret_names = (struct es_setup_names){.pattern = ""};
    snprintf(ret_names->pattern, sizeof(ret_names->pattern), "%s%.*s%s",
        setup->index ? "" : "logs-", size, what, rest);
    snprintf(ret_names->target, sizeof(ret_names->target), "%s",
        setup->alias && whole ? what : ret_names->pattern);
    snprintf(ret_names->name, sizeof(ret_names->name), "etwship-%.200s", ret_names->pattern);
    for (size_t end = strlen(ret_names->name); end && strchr("*-._", ret_names->name[end - 1]);) {
        ret_names->name[--end] = '\0';
    }
    snprintf(ret_names->path, sizeof(ret_names->path), "/_index_template/");
    escape(ret_names->name, ret_names->path, sizeof(ret_names->path));
    if (setup->lifecycle->policy) {
        escape(setup->lifecycle->policy, ret_names->policy_path, sizeof(ret_names->policy_path));
    }
}

const char *es_setup_stray(const struct es_setup *setup, const struct es_setup_names *names,
    struct http_client *client, const char *url, struct es_response *response)
{
    struct error err;
    char path[ES_SETUP_MAX_NAME + 64];
    snprintf(path, sizeof(path), "/_resolve/index/%s", names->pattern);
    bool is_there = !setup->index &&
                    es_ask(client, url, "GET", path, span_make(NULL, 0), response, &err) &&
                    response->reply.status == 200 && es_response_has(response, "\"indices\":[{");
    return is_there ? "an index, not a data stream, has this name and was created before the "
                      "template: events go into it, with types that the server has guessed. delete "
                      "it, or move its documents (_reindex)"
                    : NULL;
}

/* ---- the server ------------------------------------------------------------------------------ */

void es_setup_server(const struct es_response *response, struct es_server *ret_server)
{
    char distribution[16] = "";
    char version[JSON_SCAN_MAX_TEXT + 1];
    *ret_server = (struct es_server){.known = response->elasticsearch};
    if (response->reply.status == 200 &&
        es_response_value(response, "version.number", version, sizeof(version))) {
        struct es_shown shown;
        es_response_show(response, span_text(version), &shown);
        snprintf(ret_server->version, sizeof(ret_server->version), "%.39s", shown.text);
        ret_server->known = true;
        es_response_value(response, "version.distribution", distribution, sizeof(distribution));
        ret_server->opensearch = strcmp(distribution, "opensearch") == 0;
    }
}

/* The possible templates, the likeliest first: bit 0 is the dialect, the higher bits are the
 * types. */
enum { OPENSEARCH_BIT = 1 };

static struct es_template template_of(
    const struct es_setup *setup, const struct es_setup_names *names, unsigned variant)
{
    bool opensearch = variant & OPENSEARCH_BIT;
    /* On OpenSearch a written policy finds its indices by its pattern. */
    bool by_setting = !opensearch || !setup->lifecycle->delete_after_ns;
    return (struct es_template){.format = setup->format,
        .pattern = names->pattern,
        .data_stream = !setup->index,
        .opensearch = opensearch,
        .types = (int)(variant >> 1),
        .nanos = setup->types.timestamps == ES_DATE_NANOS,
        .typed = setup->types.fields == ES_TYPED,
        .fields = setup->types.fields == ES_TYPED ? setup->fields : NULL,
        .max_fields = (size_t)setup->types.max_fields,
        .policy = by_setting ? setup->lifecycle->policy : NULL};
}

static unsigned variant_at(const struct es_server *server, unsigned index)
{
    return index ^ (server->opensearch ? OPENSEARCH_BIT : 0u);
}

/* The other dialect is impossible if the server is known. */
static bool can_be(const struct es_server *server, unsigned variant)
{
    return !server->known || ((variant & OPENSEARCH_BIT) != 0) == server->opensearch;
}

void es_setup_check_init(const struct es_setup *setup, struct es_setup_check *ret_check)
{
    es_setup_names(setup, &ret_check->names);
    for (unsigned variant = 0; variant < ES_SETUP_VARIANTS; variant++) {
        struct es_template wanted = template_of(setup, &ret_check->names, variant);
        es_template_mark(&wanted, ret_check->marks[variant]);
    }
    ret_check->fields_mark[0] = '\0';
    if (setup->fields && setup->types.fields == ES_TYPED) {
        es_template_fields_mark(setup->fields, ret_check->fields_mark);
    }
}

enum es_template_state es_setup_state(const struct es_setup_check *check,
    struct http_client *client, const char *url, struct es_response *response)
{
    struct error err;
    if (!es_ask(client, url, "GET", check->names.path, span_make(NULL, 0), response, &err)) {
        return ES_TEMPLATE_UNKNOWN;
    }
    if (response->reply.status == 404) {
        return ES_TEMPLATE_MISSING;
    }
    if (response->reply.status != 200) {
        return ES_TEMPLATE_UNKNOWN;
    }
    for (unsigned variant = 0; variant < ES_SETUP_VARIANTS; variant++) {
        if (es_response_has(response, check->marks[variant]) &&
            (!check->fields_mark[0] || es_response_has(response, check->fields_mark))) {
            return ES_TEMPLATE_CURRENT;
        }
    }
    return ES_TEMPLATE_OTHER;
}

/* ---- the command ----------------------------------------------------------------------------- */

struct run {
    const struct es_setup *setup;
    struct http_try found;
    struct http_client *client;
    const char *url; /* the node that answered; NULL: none did */
    struct es_server server;
    struct es_setup_names names;
    struct es_response response;
    struct buf body;
};

/* Report an unsuccessful reply with a remedy. */
static void tell_refusal(struct run *run, const char *what)
{
    char words[ES_ASK_MAX_WORDS];
    int status = run->response.reply.status;
    es_response_words(&run->response, words);
    http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s: %s. %s", what, words,
        status == 401   ? "check auth: the server does not know this user, key or password"
        : status == 403 ? "give the user the rights below, or run setup once with one that has them"
        : status == 404 || status == 405
            ? "check the address: this server has no such API, or is older than 7.9"
            : "see the log of the server");
}

/* The first node that answers. */
static bool find_server(struct run *run)
{
    struct error err;
    for (size_t i = 0; i < run->setup->hosts->count && !run->url; i++) {
        const char *url = run->setup->hosts->items[i];
        if (es_ask(run->client, url, "GET", "/", span_make(NULL, 0), &run->response, &err)) {
            run->url = url;
        } else {
            http_try_tell(&run->found,
                run->found.talk->dry_run ? OUTPUT_FOUND_NOTE : OUTPUT_FOUND_FAULT, "%s", err.text);
        }
    }
    if (!run->url) {
        return run->found.talk->dry_run;
    }
    if (run->response.reply.status == 401) {
        tell_refusal(run, run->url);
        return false;
    }
    es_setup_server(&run->response, &run->server);
    return true;
}

static void tell_guess(struct run *run)
{
    http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
        "the kind of the server is unknown: this is for Elasticsearch; OpenSearch gets other types "
        "of fields%s. run setup without --dry-run to ask the server",
        run->setup->lifecycle->delete_after_ns ? " and a policy of ISM" : "");
}

/* PUT, or show it. False, reported: no reply. */
static bool put(struct run *run, const char *path)
{
    struct error err;
    if (run->found.talk->dry_run) {
        run->found.talk->show(run->found.talk->host, "PUT", path, buf_span(&run->body));
        run->response.reply.status = 200;
        return true;
    }
    if (es_ask(run->client, run->url, "PUT", path, buf_span(&run->body), &run->response, &err)) {
        return true;
    }
    http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s", err.text);
    return false;
}

static bool put_policy(struct run *run)
{
    const struct es_lifecycle *lifecycle = run->setup->lifecycle;
    struct error err;
    char path[sizeof(run->names.policy_path) + 128];
    char number[32];
    char term[32];
    if (!lifecycle->policy || !lifecycle->delete_after_ns) {
        return true;
    }
    snprintf(path, sizeof(path), "%s%s",
        run->server.opensearch ? "/_plugins/_ism/policies/" : "/_ilm/policy/",
        run->names.policy_path);
    /* ISM replaces a policy only if the request has its current version. */
    if (run->server.opensearch && run->url &&
        es_ask(run->client, run->url, "GET", path, span_make(NULL, 0), &run->response, &err) &&
        es_response_value(&run->response, "_seq_no", number, sizeof(number)) &&
        es_response_value(&run->response, "_primary_term", term, sizeof(term))) {
        size_t at = strlen(path);
        snprintf(path + at, sizeof(path) - at, "?if_seq_no=%s&if_primary_term=%s", number, term);
    }
    buf_reset(&run->body);
    es_lifecycle_write(
        lifecycle, run->server.opensearch, run->names.pattern, !run->setup->index, &run->body);
    if (!put(run, path)) {
        return false;
    }
    if (run->response.reply.status / 100 != 2) {
        tell_refusal(run, "the server did not accept the lifecycle policy");
        return false;
    }
    if (!run->found.talk->dry_run) {
        http_try_tell(
            &run->found, OUTPUT_FOUND_GOOD, "lifecycle policy %s is in place", lifecycle->policy);
    }
    return true;
}

/* True if the server refused an unknown type. */
static bool lacks_a_type(const struct es_response *response)
{
    return response->reply.status == 400 &&
           (es_response_has(response, "No handler for type") ||
               es_response_has(response, "mapper type") ||
               es_response_has(response, "unknown parameter [ignore_malformed]"));
}

static void tell_existing(struct run *run)
{
    struct error err;
    char path[ES_SETUP_MAX_NAME * 3 + 64] = "/_data_stream/";
    if (run->setup->index) {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "existing indices keep their mapping; the template is for new ones");
        return;
    }
    snprintf(path, sizeof(path), "/_data_stream/%s", run->names.pattern);
    if (es_ask(run->client, run->url, "GET", path, span_make(NULL, 0), &run->response, &err) &&
        run->response.reply.status == 200 && es_response_has(&run->response, "timestamp_field")) {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "there are data streams already: they keep their old mapping until they roll over. "
            "send POST /NAME/_rollover to each of %s",
            run->names.pattern);
    }
}

static void tell_stray(struct run *run)
{
    const char *words = es_setup_stray(
        run->setup, &run->names, run->client, run->url, &run->response);
    if (words) {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE, "%s: %s", run->names.pattern, words);
    }
}

/* Check that the installed template applies. False, reported: another one wins. */
static bool is_applied(struct run *run)
{
    struct es_winner winner;
    struct error text;
    if (!es_winner_find(&run->names, run->client, run->url, &run->response, &winner)) {
        return true;
    }
    es_winner_say(&winner, &run->names, &run->response, &text);
    http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s", text.text);
    return false;
}

static bool put_template(struct run *run)
{
    for (unsigned i = 0; i < ES_SETUP_VARIANTS; i++) {
        unsigned variant = variant_at(&run->server, i);
        struct es_template wanted = template_of(run->setup, &run->names, variant);
        if (!can_be(&run->server, variant)) {
            continue;
        }
        buf_reset(&run->body);
        es_template_write(&wanted, &run->body);
        if (!put(run, run->names.path)) {
            return false;
        }
        if (run->response.reply.status / 100 == 2) {
            if (!run->found.talk->dry_run) {
                http_try_tell(&run->found, OUTPUT_FOUND_GOOD,
                    "index template %s for %s is in place", run->names.name, run->names.pattern);
                tell_existing(run);
            }
            if (wanted.types == ES_TYPES_FEW) {
                http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
                    "this server has no type of fields for payloads: they are stored but not "
                    "searchable");
            }
            return true;
        }
        if (!lacks_a_type(&run->response)) {
            break;
        }
    }
    if (run->setup->lifecycle->policy && run->response.reply.status == 400 &&
        es_response_has(&run->response, "unknown setting")) {
        tell_refusal(run, "the server did not accept the index template");
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT,
            "this server has no lifecycle policies. remove `lifecycle` from the output");
        return false;
    }
    tell_refusal(run, "the server did not accept the index template");
    return false;
}

static bool is_current(struct run *run)
{
    struct es_setup_check check;
    es_setup_check_init(run->setup, &check);
    if (!run->url || run->found.talk->dry_run ||
        es_setup_state(&check, run->client, run->url, &run->response) != ES_TEMPLATE_CURRENT) {
        return false;
    }
    http_try_tell(&run->found, OUTPUT_FOUND_GOOD, "index template %s for %s is in place already",
        run->names.name, run->names.pattern);
    return true;
}

/* Print the required rights. */
static void tell_rights(
    const struct es_setup *setup, const struct es_server *server, const struct output_talk *talk)
{
    struct run run = {.setup = setup, .found.talk = talk};
    const char *policy = setup->lifecycle->policy ? ", manage_ilm" : "";
    es_setup_names(setup, &run.names);
    if (!server->opensearch) {
        http_try_tell(&run.found, OUTPUT_FOUND_NOTE,
            "Elasticsearch: setup needs the cluster privileges monitor and "
            "manage_index_templates%s; shipping needs the cluster privilege monitor and, for %s, "
            "the index privileges create_doc and auto_configure",
            policy, run.names.target);
    }
    if (server->opensearch || !server->known) {
        http_try_tell(&run.found, OUTPUT_FOUND_NOTE,
            "OpenSearch: setup needs the cluster permissions cluster:monitor/main and "
            "indices:admin/index_template/*%s; shipping needs the cluster permissions "
            "cluster:monitor/main and indices:data/write/bulk and, for %s, the index permissions "
            "indices:data/write/index, indices:data/write/bulk* and indices:admin/auto_create, "
            "indices:admin/create, indices:admin/mapping/auto_put",
            setup->lifecycle->policy ? ", cluster:admin/opendistro/ism/*" : "", run.names.pattern);
    }
}

bool es_setup_run(const struct es_setup *setup, const struct output_talk *talk)
{
    struct error err;
    struct run run = {.setup = setup, .found.talk = talk};
    es_setup_names(setup, &run.names);
    run.client = http_client_create(&(struct http_client_setup){.options = setup->http}, &err);
    if (!run.client) {
        return http_try_tell(&run.found, OUTPUT_FOUND_FAULT, "%s", err.text);
    }
    run.found.client = run.client;
    es_response_init(&run.response);
    buf_init(&run.body, ES_TEMPLATE_MAX_BYTES);
    bool good = find_server(&run);
    if (good && talk->dry_run && !run.server.known) {
        tell_guess(&run);
    }
    good = good && put_policy(&run) && (is_current(&run) || put_template(&run));
    if (good && !talk->dry_run) {
        tell_stray(&run);
        good = is_applied(&run);
    }
    if (talk->dry_run || (!good && run.response.reply.status == 403)) {
        tell_rights(setup, &run.server, talk);
    }
    buf_fini(&run.body);
    es_response_fini(&run.response);
    http_client_destroy(run.client);
    return good;
}
