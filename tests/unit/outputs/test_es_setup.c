#include "unit/outputs/es_setup_rig.h"

/* ---- names ----------------------------------------------------------------------------------- */

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

/* ---- setup ----------------------------------------------------------------------------------- */

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
        const char *findings;
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
        assert_says(f, rows[i].findings);
        stop(f);
    }
}

/* The secret begins at every fifth place before a cut, so the cut lies at eight places of it: near
 * its beginning, in its middle and near its end. */
static void no_part_of_a_secret_is_left_by_a_cut(void **state)
{
    (void)state;
    static const char secret[] = "k3y-0123456789-abcdefghijklmnopqrstuvwxyz";
    static const struct {
        const char *format; /* of a reply, with filling and the secret */
        int status;
        enum { TO_ROOT, TO_PUT, TO_PRIVILEGES } to;
        int most; /* bytes before it; none of these texts is shown at such a length */
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
        for (int before = 0; before <= cases[i].most; before += 5) {
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
            assert_null(strstr(f->findings, "k3y-"));
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
    assert_null(strstr(f->findings, "is unknown"));
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
        assert_says(f, " the kind of the server is unknown: this is for Elasticsearch");
        assert_null(strstr(f->findings, "ISM"));
        assert_non_null(strstr(f->shown, "\"flattened\""));
        f->lifecycle = (struct es_lifecycle){"keep", 240 * 3600 * (uint64_t)SECOND_NS};
        assert_true(run(f));
        assert_says(f, "and a policy of ISM");
        stop(f);
    }
    struct fixture *f = start(ELASTICSEARCH);
    f->talk.dry_run = true;
    assert_true(run(f));
    assert_null(strstr(f->findings, "is unknown"));
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
    static const char words[] = " logs-etw.events-*: an index, not a data stream, has this name";
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->server.resolved = "{\"indices\":[],\"aliases\":[],\"data_streams\":[{\"name\":\"logs-etw."
                         "events-default\",\"backing_indices\":[\".ds-x-000001\"]}]}";
    assert_true(run(f));
    assert_null(strstr(f->findings, words));
    f->server.resolved = "{\"indices\":[{\"name\":\"logs-etw.events-default\",\"attributes\":["
                         "\"open\"]}],\"aliases\":[],\"data_streams\":[]}";
    assert_true(run(f));
    assert_says(f, words);
    assert_true(try(f));
    assert_says(f, words);
    stop(f);
}

/* Replies as OpenSearch 2.19 gives them. */
static void a_template_that_wins_over_ours_is_named(void **state)
{
    static const char ours[] = "{\"template\":{\"settings\":{},\"mappings\":{\"properties\":{"
                               "\"name\":{\"type\":\"keyword\"}"
                               "}},\"aliases\":{}},\"overlapping\":[{\"name\":\"logs\",\"index_"
                               "patterns\":[\"logs-*-*\"]}]}";
    static const char others[] =
        "{\"template\":{\"settings\":{},\"mappings\":{},\"aliases\":{}},\"overlapping\":[{\"name\":"
        "\"logs\",\"index_patterns\":[\"logs-*-*\"]},{\"name\":\"etwship-logs-etw.events\","
        "\"index_patterns\":[\"logs-etw.events-*\"]}]}";
    static const char list[] =
        "{\"index_templates\":["
        "{\"name\":\"everything-else\",\"index_template\":{\"index_patterns\":[\"metrics-*\"],"
        "\"priority\":99999}},"
        "{\"name\":\"etwship-logs-etw.events\",\"index_template\":{\"index_patterns\":["
        "\"logs-etw.events-*\"],\"priority\":317}},"
        "{\"name\":\"corp-logs\",\"index_template\":{\"index_patterns\":[\"x-*\",\"logs-*\"],"
        "\"priority\":9000}},"
        "{\"name\":\"logs\",\"index_template\":{\"index_patterns\":[\"logs-*-*\"]}}]}";
    static const char words[] =
        "-index template etwship-logs-etw.events is in place, but corp-logs "
        "wins for logs-etw.events-* by its priority of 9000";
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->server.simulated = ours;
    assert_true(run(f));
    assert_true(try(f));
    f->server.simulated = others;
    f->server.listed = list;
    assert_false(run(f));
    assert_says(f, words);
    assert_false(try(f));
    assert_says(f, words);
    f->server.listed = NULL; /* without the right to see the others */
    assert_false(run(f));
    assert_says(f, "but another one of a higher priority wins for logs-etw.events-*");
    stop(f);
}

static struct index_fields *one_field(struct arena *arena, const char *name)
{
    struct error err;
    struct schema_field *field = arena_alloc(arena, sizeof(*field));
    struct index_fields *set = index_fields_create(true, &err);
    assert_true(field && set);
    *field = (struct schema_field){.name = span_text(name), .in_type = IN_UINT64};
    struct event_schema schema = {
        .has_layout = true, .fields = field, .field_count = 1, .top_count = 1};
    assert_true(schema_finish(&schema, arena, &err));
    index_fields_add(set, &schema);
    assert_true(index_fields_choose(set, 100, &err));
    return set;
}

/* With other definitions, `setup` writes the template anew. `run` has no definitions, and compares
 * only the rest. */
static void a_template_follows_the_definitions(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    struct arena arena;
    (void)state;
    arena_init(&arena, 1 << 20);
    struct index_fields *first = one_field(&arena, "First");
    struct index_fields *second = one_field(&arena, "Second");
    f->setup.types = (struct es_types){
        .timestamps = ES_DATE_NANOS, .fields = ES_TYPED, .max_fields = 1000};
    f->setup.fields = first;
    assert_true(run(f));
    assert_true(run(f));
    assert_says(f, "in place already");
    assert_int_equal(f->server.puts, 1);
    assert_non_null(strstr(f->server.template, "\"First\":{\"type\":\"unsigned_long\""));
    assert_non_null(strstr(f->server.template, "\"@timestamp\":{\"type\":\"date_nanos\"}"));
    f->setup.fields = second;
    assert_true(run(f));
    assert_int_equal(f->server.puts, 2);
    assert_non_null(strstr(f->server.template, "\"Second\":"));
    f->setup.fields = NULL;
    assert_true(try(f));
    assert_says(f, "+index template etwship-logs-etw.events is in place\n");
    f->setup.types.fields = ES_FLATTENED;
    try(f);
    assert_says(f, "differs from that of this version");
    index_fields_destroy(first);
    index_fields_destroy(second);
    arena_fini(&arena);
    stop(f);
}

/* Old or reduced servers lack types. */
static void a_type_that_a_server_lacks_gives_way(void **state)
{
    struct fixture *f = start(ELASTICSEARCH);
    struct arena arena;
    (void)state;
    arena_init(&arena, 1 << 20);
    struct index_fields *fields = one_field(&arena, "Big");
    f->setup.types.fields = ES_TYPED;
    f->setup.fields = fields;
    f->server.lacks = "unsigned_long";
    assert_true(run(f));
    assert_non_null(strstr(f->server.template, "\"Big\":{\"type\":\"long\""));
    index_fields_destroy(fields);
    arena_fini(&arena);
    stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_from_the_text_in_front_of_fields_and_dates),
        cmocka_unit_test(a_template_is_put_once),
        cmocka_unit_test(a_server_that_hides_what_it_is_gets_what_it_takes),
        cmocka_unit_test(a_refusal_says_what_to_do),
        cmocka_unit_test(no_part_of_a_secret_is_left_by_a_cut),
        cmocka_unit_test(the_first_node_that_answers_is_taken),
        cmocka_unit_test(a_dry_run_only_shows),
        cmocka_unit_test(a_dry_run_says_when_it_guesses_the_server),
        cmocka_unit_test(lifecycles_are_written_in_the_servers_own_words),
        cmocka_unit_test(an_index_in_the_place_of_a_data_stream_is_told),
        cmocka_unit_test(a_template_that_wins_over_ours_is_named),
        cmocka_unit_test(a_template_follows_the_definitions),
        cmocka_unit_test(a_type_that_a_server_lacks_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
