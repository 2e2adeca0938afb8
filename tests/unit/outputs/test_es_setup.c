#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/elasticsearch/es_try.h"
#include "outputs/elasticsearch/es_watch.h"
#include "support/http_fake.h"

/* `setup` and `test-output` against a server that is played here: what real ones seldom are (hidden,
 * old, without rights, with lifecycles). Real ones: tests/integration/opensearch. */

enum { SECOND_NS = 1000000000, MAX_SAID = 8192 };

#define OPENSEARCH "{\"version\":{\"distribution\":\"opensearch\",\"number\":\"2.19.6\"}}"
#define ELASTICSEARCH "{\"version\":{\"number\":\"8.19.0\"},\"tagline\":\"You Know, for Search\"}"

struct server {
    const char *root; /* reply to GET /; NULL: it is hidden */
    int root_status;
    const char *headers;
    const char *lacks; /* a type of fields, named in the body of a PUT */
    int put_status;    /* 0: as it should be */
    const char *put_body;
    const char *privileges; /* NULL: no such API */
    const char *resolved;   /* the reply to a question for indices; NULL: 404 */
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
    char said[MAX_SAID]; /* a line each: '+', ' ' or '-' and the text */
    char shown[64 * 1024];
};

static bool starts(const struct http_fake_request *request, const char *text)
{
    return strncmp(request->head, text, strlen(text)) == 0;
}

static void put_template(
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

static void answer(
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

static void say(void *f_, enum output_finding finding, const char *text)
{
    static const char marks[] = {
        [OUTPUT_FOUND_GOOD] = '+', [OUTPUT_FOUND_NOTE] = ' ', [OUTPUT_FOUND_FAULT] = '-'};
    struct fixture *f = f_;
    size_t at = strlen(f->said);
    snprintf(f->said + at, sizeof(f->said) - at, "%c%s\n", marks[finding], text);
}

static void show(void *f_, const char *method, const char *path, struct span body)
{
    struct fixture *f = f_;
    size_t at = strlen(f->shown);
    snprintf(f->shown + at, sizeof(f->shown) - at, "%s %s\n%.*s\n", method, path, (int)body.size,
        (const char *)body.data);
}

static struct fixture *start(const char *root)
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

static void stop(struct fixture *f)
{
    http_fake_stop(f->fake);
    free(f);
}

static bool run(struct fixture *f)
{
    f->said[0] = '\0';
    return es_setup_run(&f->setup, &f->talk);
}

static bool try(struct fixture *f)
{
    f->said[0] = '\0';
    return es_try_run(&f->setup, &f->talk);
}

static void assert_says(const struct fixture *f, const char *text)
{
    if (!strstr(f->said, text)) {
        fail_msg("not said: %s, but: %s", text, f->said);
    }
}

/* ---- names ------------------------------------------------------------------------------------------ */

static void names_come_from_the_text_in_front_of_fields_and_dates(void **state)
{
    static const struct {
        const char *format;
        const char *dataset;
        const char *index;
        const char *pattern;
        const char *path;
        bool alias;
    } rows[] = {
        {"ecs", NULL, NULL, "logs-etw.events-*", "/_index_template/etwship-logs-etw.events", false},
        {"native", NULL, NULL, "logs-etw.native-*", "/_index_template/etwship-logs-etw.native",
            false},
        {"ecs", "a_b", NULL, "logs-a_b-*", "/_index_template/etwship-logs-a_b", false},
        {"ecs", "etw.{provider.name}", NULL, "logs-etw.*", "/_index_template/etwship-logs-etw",
            false},
        {"ecs", NULL, "etw", "etw", "/_index_template/etwship-etw", false},
        {"ecs", NULL, "etw-%Y.%m", "etw-*", "/_index_template/etwship-etw", false},
        {"ecs", NULL, "a\xc3\xa4-%Y", "a\xc3\xa4-*", "/_index_template/etwship-a%C3%A4", false},
        {"ecs", NULL, "etw", "etw-*", "/_index_template/etwship-etw", true},
        {"ecs", NULL, "etw-%Y", "etw-*", "/_index_template/etwship-etw", true},
    };
    const struct es_lifecycle none = {.policy = NULL};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct es_setup_names names;
        const struct es_setup setup = {.lifecycle = &none,
            .format = rows[i].format,
            .dataset = rows[i].dataset,
            .index = rows[i].index,
            .alias = rows[i].alias};
        es_setup_names(&setup, &names);
        assert_string_equal(names.pattern, rows[i].pattern);
        bool literal = rows[i].alias && !strchr(rows[i].index, '%');
        assert_string_equal(names.target, literal ? rows[i].index : rows[i].pattern);
        assert_string_equal(names.path, rows[i].path);
    }
}

/* ---- setup ------------------------------------------------------------------------------------------ */

static void a_template_is_put_once(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    assert_true(run(f));
    assert_says(f, "+index template etwship-logs-etw.events for logs-etw.events-* is in place\n");
    assert_non_null(strstr(f->server.template, "flat_object"));
    assert_true(run(f));
    assert_says(f, "in place already");
    assert_int_equal(f->server.puts, 1);
    stop(f);
}

static void a_server_that_hides_what_it_is_gets_what_it_takes(void **state)
{
    static const struct {
        const char *headers;
        const char *lacks;
        const char *holds;
    } rows[] = {
        {NULL, "\"flattened\"", "flat_object"},
        {NULL, "flat_object", "flattened"},
        {"X-elastic-product: Elasticsearch\r\n", "match_only_text", "\"flattened\""},
        {NULL, "flat", "\"dynamic\":false}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f = start(NULL);
        f->server.headers = rows[i].headers;
        f->server.lacks = rows[i].lacks;
        assert_true(run(f));
        assert_non_null(strstr(f->server.template, rows[i].holds));
        stop(f);
    }
}

static void a_refusal_says_what_to_do(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *said;
    } rows[] = {
        {401, "Unauthorized", "check auth"},
        {403,
            "{\"error\":{\"type\":\"security_exception\",\"reason\":\"no permissions\"},"
            "\"status\":403}",
            "security_exception: no permissions"},
        {403, "", "manage_index_templates"},
        {405, "{\"error\":\"no\",\"status\":405}", "older than 7.9"},
        {500, "", "status 500"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f = start(ELASTICSEARCH);
        f->server.put_status = rows[i].status;
        f->server.put_body = rows[i].body;
        assert_false(run(f));
        assert_says(f, rows[i].said);
        stop(f);
    }
}

/* The secret begins at every place before a cut, so the cut lies at every place of it. */
static void no_part_of_a_secret_is_left_by_a_cut(void **state)
{
    (void)state;
    static const char secret[] = "k3y-0123456789-abcdefghijklmnopqrstuvwxyz";
    static const struct {
        const char *format; /* of a reply, with filling and the secret */
        int status;
        enum { TO_ROOT, TO_PUT, TO_PRIVILEGES } to;
        int most; /* bytes in front of it; none of these texts is shown at such a length */
    } cases[] = {
        {"{\"error\":{\"type\":\"t\",\"reason\":\"%.*s%s is not known\"},\"status\":401}", 401,
            TO_ROOT, 400},
        {"{\"error\":{\"type\":\"t\",\"reason\":\"%.*s%s is not known\"},\"status\":403}", 403,
            TO_PUT, 400},
        {"{\"version\":{\"number\":\"%.*s%s\"}}", 200, TO_ROOT, 40},
        {"{\"has_all_requested\":false,\"%.*s%s behind\":false,\"b\":false}", 200, TO_PRIVILEGES,
            128},
    };
    struct fixture *f = start(ELASTICSEARCH);
    f->http.auth = (struct http_auth){.bearer = secret};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int before = 0; before <= cases[i].most; before++) {
            char filling[512];
            char body[1024];
            memset(filling, 'x', sizeof(filling));
            snprintf(body, sizeof(body), cases[i].format, before, filling, secret);
            f->server.root_status = cases[i].to == TO_ROOT ? cases[i].status : 200;
            f->server.root = cases[i].to == TO_ROOT ? body : ELASTICSEARCH;
            f->server.put_status = cases[i].to == TO_PUT ? cases[i].status : 0;
            f->server.put_body = body;
            f->server.privileges = cases[i].to == TO_PRIVILEGES ? body : NULL;
            if (cases[i].to == TO_PUT) {
                assert_false(run(f));
            } else {
                try(f);
            }
            assert_says(f, before > 9 ? "xxxxxxxxx" : "***");
            assert_null(strstr(f->said, "k3y-"));
        }
    }
    stop(f);
}

static void the_first_node_that_answers_is_taken(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->urls[1] = f->urls[0];
    f->urls[0] = "http://127.0.0.1:1";
    f->hosts.count = 2;
    assert_true(run(f));
    assert_says(f, "-http://127.0.0.1:1: ");
    assert_int_equal(f->server.puts, 1);
    stop(f);
}

static void a_dry_run_only_shows(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->talk.dry_run = true;
    f->lifecycle = (struct es_lifecycle){"keep", 240 * 3600 * (uint64_t)SECOND_NS};
    assert_true(run(f));
    assert_int_equal(f->server.puts, 0);
    assert_string_equal(f->server.policy, "");
    assert_non_null(strstr(f->shown, "PUT /_plugins/_ism/policies/keep\n"));
    assert_non_null(strstr(f->shown, "PUT /_index_template/etwship-logs-etw.events\n"));
    assert_says(f, "indices:admin/index_template/*");
    assert_null(strstr(f->said, "is unknown"));
    stop(f);
}

static void a_dry_run_says_when_it_guesses_the_server(void **state)
{
    static const char *const guessed[] = {NULL, "{\"version\":3}"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct fixture *f = start(i < 2 ? guessed[i] : OPENSEARCH);
        f->talk.dry_run = true;
        f->urls[0] = i < 2 ? f->urls[0] : "http://127.0.0.1:1";
        assert_true(run(f));
        assert_says(f, " what the server is, is unknown: shown as for Elasticsearch");
        assert_null(strstr(f->said, "ISM"));
        assert_non_null(strstr(f->shown, "\"flattened\""));
        f->lifecycle = (struct es_lifecycle){"keep", 240 * 3600 * (uint64_t)SECOND_NS};
        assert_true(run(f));
        assert_says(f, "and a policy of ISM");
        stop(f);
    }
    struct fixture *f = start(ELASTICSEARCH);
    f->talk.dry_run = true;
    assert_true(run(f));
    assert_null(strstr(f->said, "is unknown"));
    stop(f);
}

/* Elasticsearch, "Create or update lifecycle policy"; OpenSearch, "ISM API", "Update policy". */
static void lifecycles_are_written_in_the_servers_own_words(void **state)
{
    (void)state;
    struct fixture *f = start(ELASTICSEARCH);
    f->lifecycle = (struct es_lifecycle){"keep it", 240 * 3600 * (uint64_t)SECOND_NS};
    assert_true(run(f));
    assert_non_null(strstr(f->server.policy, "PUT /_ilm/policy/keep%20it "));
    assert_non_null(strstr(f->server.policy,
        "\"rollover\":{\"max_primary_shard_size\":\"50gb\",\"max_age\":\"24h\"}"));
    assert_non_null(strstr(f->server.policy, "\"delete\":{\"min_age\":\"240h\""));
    assert_non_null(strstr(f->server.template, "\"index.lifecycle.name\":\"keep it\""));
    stop(f);

    f = start(OPENSEARCH);
    f->lifecycle = (struct es_lifecycle){"keep", 240 * 3600 * (uint64_t)SECOND_NS};
    assert_true(run(f));
    assert_non_null(strstr(f->server.policy, "PUT /_plugins/_ism/policies/keep "));
    assert_non_null(strstr(f->server.policy, "\"min_rollover_age\":\"240h\""));
    assert_non_null(strstr(f->server.policy, "\"index_patterns\":[\"logs-etw.events-*\"]"));
    assert_null(strstr(f->server.template, "policy_id"));
    assert_true(run(f));
    assert_non_null(strstr(f->server.policy, "keep?if_seq_no=7&if_primary_term=2 "));
    stop(f);
}

static void an_index_in_the_place_of_a_data_stream_is_told(void **state)
{
    static const char words[] = " logs-etw.events-*: there is an index that is no data stream";
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->server.resolved = "{\"indices\":[],\"aliases\":[],\"data_streams\":[{\"name\":\"logs-etw."
                         "events-default\",\"backing_indices\":[\".ds-x-000001\"]}]}";
    assert_true(run(f));
    assert_null(strstr(f->said, words));
    f->server.resolved = "{\"indices\":[{\"name\":\"logs-etw.events-default\",\"attributes\":["
                         "\"open\"]}],\"aliases\":[],\"data_streams\":[]}";
    assert_true(run(f));
    assert_says(f, words);
    assert_true(try(f));
    assert_says(f, words);
    stop(f);
}

/* ---- test-output ------------------------------------------------------------------------------------ */

static void a_test_names_the_layer_that_is_at_fault(void **state)
{
    static const struct {
        const char *url;
        const char *said;
    } rows[] = {
        {"http://127.0.0.1:1", "-connection (TCP): "},
        {"http://name.invalid:9200", "-name (DNS): "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f = start(OPENSEARCH);
        f->urls[0] = rows[i].url;
        assert_false(try(f));
        assert_says(f, rows[i].said);
        stop(f);
    }
}

static void a_test_names_what_the_server_is_and_whether_it_lets_us_in(void **state)
{
    static const struct {
        const char *root;
        int status;
        bool good;
        const char *said;
    } rows[] = {
        {OPENSEARCH, 200, true, "it is OpenSearch 2.19.6"},
        {ELASTICSEARCH, 200, true, "it is Elasticsearch 8.19.0"},
        {"", 404, true, "does not say what it is (status 404)"},
        {"{\"version\":3}", 200, true, "does not say what it is (status 200)"},
        {"Unauthorized", 401, false, "check auth"},
        {"", 403, true, "may not ask"},
        {"", 503, false, "has a fault"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f = start(ELASTICSEARCH);
        assert_true(run(f));
        f->server.root = rows[i].root;
        f->server.root_status = rows[i].status;
        assert_int_equal(try(f), rows[i].good);
        assert_says(f, rows[i].said);
        stop(f);
    }
}

static void a_test_names_privileges_that_are_missing(void **state)
{
    struct fixture *f = start(ELASTICSEARCH);
    (void)state;
    assert_true(run(f));
    f->server.privileges = "{\"has_all_requested\":true}";
    assert_true(try(f));
    assert_says(f, "+rights: ");
    f->server.privileges = "{\"username\":\"x\",\"has_all_requested\":false,\"cluster\":{"
                           "\"monitor\":true},\"index\":{\"logs-etw.events-*\":{"
                           "\"auto_configure\":false,\"create_doc\":true}}}";
    assert_false(try(f));
    assert_says(f, "lacks: auto_configure.");
    stop(f);
}

static void a_test_tells_a_missing_template_from_another_one(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    assert_false(try(f));
    assert_says(f, "-index template etwship-logs-etw.events is missing: events may be refused. "
                   "run: etwship setup siem");
    snprintf(f->server.template, sizeof(f->server.template), "{\"index_templates\":[]}");
    assert_true(try(f));
    assert_says(f, " index template etwship-logs-etw.events is not as this version makes it");
    assert_true(run(f));
    assert_true(try(f));
    assert_says(f, "+index template etwship-logs-etw.events is in place");
    stop(f);
}

/* ---- while it delivers -------------------------------------------------------------------------------- */

static void warn(void *f, const char *text)
{
    say(f, OUTPUT_FOUND_NOTE, text);
}

static struct es_watch *watch(struct fixture *f)
{
    struct error err;
    const struct output_env env = {.name = "siem", .warn = warn, .host = f};
    struct es_watch *watch = es_watch_create(&f->setup, &env, &err);
    assert_non_null(watch);
    f->said[0] = '\0';
    return watch;
}

static void a_missing_template_is_told_once(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    struct es_watch *w = watch(f);
    (void)state;
    es_watch_look(w);
    assert_says(f, "etwship-logs-etw.events is missing");
    assert_says(f, "run: etwship setup siem\n");
    f->said[0] = '\0';
    es_watch_look(w);
    assert_string_equal(f->said, "");
    assert_int_equal(http_fake_count(f->fake), 1);
    es_watch_destroy(w);
    stop(f);
}

static void the_template_of_setup_is_fine_and_another_one_is_told(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    assert_true(run(f));
    struct es_watch *w = watch(f);
    es_watch_look(w);
    assert_string_equal(f->said, "");
    es_watch_destroy(w);
    snprintf(f->server.template, sizeof(f->server.template), "{\"index_templates\":[]}");
    w = watch(f);
    es_watch_look(w);
    assert_says(f, "not as this version makes it. run: etwship setup siem");
    es_watch_destroy(w);
    stop(f);
}

static void a_server_that_is_away_is_asked_again(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->urls[1] = f->urls[0];
    f->urls[0] = "http://127.0.0.1:1";
    f->hosts.count = 2;
    struct es_watch *w = watch(f);
    es_watch_look(w);
    assert_string_equal(f->said, "");
    es_watch_look(w);
    assert_says(f, "is missing");
    es_watch_destroy(w);
    stop(f);
}

static void a_server_that_refuses_to_say_is_left_in_peace(void **state)
{
    static const int statuses[] = {400, 403, 405, 501};
    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        struct fixture *f = start(OPENSEARCH);
        const struct http_fake_reply refusal = {.status = statuses[i]};
        struct es_watch *w = watch(f);
        http_fake_handle(f->fake, NULL, NULL);
        http_fake_script(f->fake, &refusal, 1);
        es_watch_look(w);
        es_watch_look(w);
        assert_string_equal(f->said, "");
        assert_int_equal(http_fake_count(f->fake), 1);
        es_watch_destroy(w);
        stop(f);
    }
}

static void a_server_that_cannot_say_yet_is_asked_again(void **state)
{
    static const struct http_fake_reply replies[] = {{.status = 401}, {.status = 407},
        {.status = 408}, {.status = 429}, {.status = 500}, {.status = 503},
        {.status = 404, .cut = 20}};
    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct fixture *f = start(OPENSEARCH);
        struct es_watch *w = watch(f);
        http_fake_handle(f->fake, NULL, NULL);
        http_fake_script(f->fake, &replies[i], 1);
        es_watch_look(w);
        assert_string_equal(f->said, "");
        http_fake_handle(f->fake, answer, &f->server);
        es_watch_look(w);
        assert_says(f, "is missing");
        es_watch_destroy(w);
        stop(f);
    }
}

/* ---- values of replies -------------------------------------------------------------------------------- */

static void a_value_is_found_by_its_path_and_nowhere_else(void **state)
{
    static const struct {
        const char *body;
        const char *path;
        const char *value;
    } rows[] = {
        {"{\"a\":1}", "a", "1"},
        {"{\"b\":{\"a\":1},\"a\":2}", "a", "2"},
        {"{\"x\":{\"b\":0},\"a\":{\"c\":{\"b\":3},\"b\":\"4\"}}", "a.b", "4"},
        {"{\"a\":[{\"b\":1}],\"a\":{\"b\":2}}", "a.b", "2"},
        {"{\"a\":{\"b\":1}}", "a", ""},
        {"{\"a\":1}", "a.b", ""},
        {"{\"a\":{},\"b\":1}", "a.b", ""},
        {"[{\"a\":1}]", "a", ""},
        {"{\"a\":", "a", ""},
        {"", "a", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct es_said said;
        char value[8] = "";
        es_said_init(&said);
        buf_add_text(&said.body, rows[i].body);
        assert_int_equal(
            es_said_value(&said, rows[i].path, value, sizeof(value)), strlen(rows[i].value));
        assert_string_equal(value, rows[i].value);
        es_said_fini(&said);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_from_the_text_in_front_of_fields_and_dates),
        cmocka_unit_test(a_template_is_put_once),
        cmocka_unit_test(a_server_that_hides_what_it_is_gets_what_it_takes),
        cmocka_unit_test(a_refusal_says_what_to_do),
        cmocka_unit_test(no_part_of_a_secret_is_left_by_a_cut),
        cmocka_unit_test(the_first_node_that_answers_is_taken),
        cmocka_unit_test(a_dry_run_only_shows),
        cmocka_unit_test(a_dry_run_says_when_it_guesses_the_server),
        cmocka_unit_test(lifecycles_are_written_in_the_servers_own_words),
        cmocka_unit_test(a_test_names_the_layer_that_is_at_fault),
        cmocka_unit_test(a_test_names_what_the_server_is_and_whether_it_lets_us_in),
        cmocka_unit_test(an_index_in_the_place_of_a_data_stream_is_told),
        cmocka_unit_test(a_test_names_privileges_that_are_missing),
        cmocka_unit_test(a_test_tells_a_missing_template_from_another_one),
        cmocka_unit_test(a_missing_template_is_told_once),
        cmocka_unit_test(the_template_of_setup_is_fine_and_another_one_is_told),
        cmocka_unit_test(a_server_that_is_away_is_asked_again),
        cmocka_unit_test(a_server_that_refuses_to_say_is_left_in_peace),
        cmocka_unit_test(a_server_that_cannot_say_yet_is_asked_again),
        cmocka_unit_test(a_value_is_found_by_its_path_and_nowhere_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
