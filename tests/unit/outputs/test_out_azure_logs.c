#include "unit/outputs/output_rig.h"

#include "outputs/http/http_token.h"
#include "support/http_fake.h"

/* Entra, the identity service and the Logs Ingestion API in one server. */

static struct {
    struct http_fake *fake;
    struct output_rig rig;
    unsigned tokens;               /* given so far */
    unsigned posts;                /* of events */
    int token_status;              /* 0: a token */
    const char *challenge;         /* of the identity service */
    const char *lasts;             /* seconds of a token */
    unsigned good_token;           /* the first token that the service accepts */
    struct http_fake_reply answer; /* to events; status 0: 204 */
    size_t limit;                  /* 413 for a longer body; 0: none */
    const char *bad;               /* 400 for a body with it */
    char stored[16384];
    char body[256];
    char form[2048]; /* of the last request for a token */
    bool echoes;     /* a refusal quotes the request */
    char echo[2048];
} s;

static void give_token(const struct http_fake_request *request, struct http_fake_reply *reply)
{
    bool machine = strncmp(request->head, "GET ", 4) == 0;
    snprintf(s.form, sizeof(s.form), "%.600s|%.*s", request->head, SPAN_ARG(request->body));
    if (machine && s.challenge) {
        reply->status = 401;
        reply->headers = s.challenge;
        return;
    }
    if (s.token_status) {
        reply->status = s.token_status;
        reply->body =
            "{\"error\":\"invalid_client\",\"error_description\":\"bad s3cret-of-tests\"}";
        snprintf(s.echo, sizeof(s.echo), "%.*s", SPAN_ARG(request->body));
        reply->body = s.echoes ? s.echo : reply->body;
        return;
    }
    const char *quote = machine ? "\"" : "";
    snprintf(s.body, sizeof(s.body), "{\"expires_in\":%s%s%s,\"access_token\":\"token-%u\"}", quote,
        s.lasts, quote, ++s.tokens);
    reply->body = s.body;
}

static void take_events(const struct http_fake_request *request, struct http_fake_reply *reply)
{
    const char *bearer = strstr(request->head, "Authorization: Bearer token-");
    const char *body = (const char *)request->body.data;
    s.posts++;
    reply->status = 204;
    if (!bearer || strtoul(bearer + 28, NULL, 10) < s.good_token) {
        reply->status = 401;
    } else if (s.answer.status) {
        *reply = s.answer;
    } else if (s.limit && request->body.size > s.limit) {
        reply->status = 413;
    } else if (s.bad && strstr(body, s.bad)) {
        reply->status = 400;
        reply->body = "{\"error\":{\"code\":\"InvalidPayload\"}}";
    } else {
        strncat(s.stored, body, sizeof(s.stored) - strlen(s.stored) - 1);
    }
}

static void serve(
    void *self, const struct http_fake_request *request, struct http_fake_reply *reply)
{
    (void)self;
    if (strstr(request->head, "oauth2")) {
        give_token(request, reply);
    } else {
        take_events(request, reply);
    }
}

static const char *yaml(const char *auth, const char *more)
{
    static char text[1024];
    const char *url = http_fake_url(s.fake);
    snprintf(text, sizeof(text),
        "{endpoint: '%s', dcr: dcr-12, stream: Custom-Etw, proxy: '', compression: none, "
        "auth: {authority: '%s', identity_endpoint: '%s', %s}%s}",
        url, url, url, auth, more);
    return text;
}

static const char with_secret[] = "tenant: t-1, client_id: c-1, client_secret: 's3cret-of-tests&'";
static const char as_machine[] = "method: managed_identity";

static void prepare(void)
{
    memset(&s, 0, sizeof(s));
    s.lasts = "3600";
    s.fake = http_fake_start();
    http_fake_handle(s.fake, serve, NULL);
}

static void begin(const char *auth, const char *more)
{
    prepare();
    rig_setup(&s.rig, &output_azure_logs, yaml(auth, more));
}

static void end(void)
{
    rig_teardown(&s.rig);
    http_fake_stop(s.fake);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void events_are_an_array_with_their_time_and_id(void **state)
{
    (void)state;
    const struct delivery_ids ids = {.epoch = 0xabc, .first_number = 7};
    begin(with_secret, "");
    assert_int_equal(
        rig_send_routed(&s.rig, "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"a\":1}\n{}\n",
            NULL, NULL, 0, &ids),
        OUTPUT_DELIVERED);
    assert_string_equal(s.stored, "[{\"TimeGenerated\":\"2026-11-21T09:30:00.1234567Z\","
                                  "\"etwship_id\":\"0000000000000abc0000000000000007\","
                                  "\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"a\":1},"
                                  "{\"etwship_id\":\"0000000000000abc0000000000000008\"}]");
    static const char line[] =
        "POST /dataCollectionRules/dcr-12/streams/Custom-Etw?api-version=2023-01-01 HTTP/1.1\r\n";
    assert_memory_equal(http_fake_request(s.fake, 1)->head, line, sizeof(line) - 1);
    assert_true(http_fake_has(http_fake_request(s.fake, 1), "Authorization", "Bearer token-1"));
    end();
}

static void each_stream_has_requests_of_its_own(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 1};
    const struct span names[] = {span_text("Custom-a b?x"), span_text("Custom-c")};
    prepare();
    char text[1024];
    snprintf(text, sizeof(text), "%s", yaml(as_machine, ""));
    char *stream = strstr(text, "Custom-Etw");
    memmove(stream + 25, stream + 10, strlen(stream + 10) + 1);
    memcpy(stream, "'Custom-{etw.session}'   ", 25);
    rig_setup(&s.rig, &output_azure_logs, text);
    assert_int_equal(rig_send_routed(&s.rig, "{}\n{}\n", routes, names, 2, NULL), OUTPUT_DELIVERED);
    assert_int_equal(s.posts, 2);
    assert_non_null(strstr(http_fake_request(s.fake, 1)->head, "/streams/Custom-a_b_x?api"));
    end();
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void an_application_asks_entra_and_its_token_is_kept(void **state)
{
    (void)state;
    begin(with_secret, "");
    assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_DELIVERED);
    assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_DELIVERED);
    assert_int_equal(s.tokens, 1);
    assert_memory_equal(s.form, "POST /t-1/oauth2/v2.0/token ", 28);
    assert_string_equal(strchr(s.form, '|') + 1, "grant_type=client_credentials&client_id=c-1&"
                                                 "scope=https%3A%2F%2Fmonitor.azure.com%2F.default&"
                                                 "client_secret=s3cret-of-tests%26");
    end();
}

static void a_token_that_ends_soon_is_renewed_before(void **state)
{
    (void)state;
    begin(with_secret, "");
    s.lasts = "1"; /* it is renewed when half of it is left */
    for (int i = 0; s.tokens < 3; i++) {
        assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_DELIVERED);
    }
    end();
}

static void a_token_that_is_not_taken_is_renewed_once(void **state)
{
    (void)state;
    begin(with_secret, "");
    s.good_token = 2;
    assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_DELIVERED);
    assert_int_equal(s.tokens, 2);
    s.good_token = 99;
    assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_RETRY);
    assert_int_equal(s.tokens, 3);
    assert_true(s.rig.report.degraded);
    end();
}

static void a_machine_asks_its_identity_service(void **state)
{
    (void)state;
    begin(as_machine, "");
    assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_DELIVERED);
    assert_non_null(strstr(s.form, "GET /metadata/identity/oauth2/token?api-version=2020-06-01&"
                                   "resource=https%3A%2F%2Fmonitor.azure.com "));
    assert_non_null(strstr(s.form, "Metadata: true"));
    end();
}

static void no_other_file_than_azure_arcs_is_ever_read(void **state)
{
    (void)state;
    static const char *const challenges[] = {"WWW-Authenticate: Basic realm=/etc/passwd\r\n",
        "WWW-Authenticate: Basic realm=/var/opt/azcmagent/tokens/../../../../etc/x.key\r\n",
        "WWW-Authenticate: Basic realm=/var/opt/azcmagent/tokens/a/b.key\r\n",
        "WWW-Authenticate: Basic realm=/tmp/x.key\r\n", "WWW-Authenticate: Basic\r\n"};
    for (size_t i = 0; i < sizeof(challenges) / sizeof(challenges[0]); i++) {
        begin(as_machine, "");
        s.challenge = challenges[i];
        assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_RETRY);
        assert_true(s.rig.report.degraded);
        assert_non_null(strstr(s.rig.report.error.text, "does not belong to Azure Arc"));
        assert_int_equal(http_fake_count(s.fake), 1);
        end();
    }
}

static void a_workload_shows_the_token_of_its_file(void **state)
{
    (void)state;
    char auth[200];
    FILE *file = fopen("azure.token.tmp", "wb");
    assert_non_null(file);
    fputs("ey.J+x\n", file);
    fclose(file);
    snprintf(auth, sizeof(auth),
        "method: workload_identity, tenant: t, client_id: c, token_file: azure.token.tmp");
    begin(auth, "");
    assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_DELIVERED);
    assert_non_null(strstr(s.form, "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
                                   "client-assertion-type%3Ajwt-bearer&client_assertion=ey.J%2Bx"));
    remove("azure.token.tmp");
    end();
}

static void entra_that_gives_no_token_is_told_without_the_secret(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool slow;
    } cases[] = {{400, true}, {401, true}, {429, false}, {500, false}, {503, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin("tenant: t, client_id: c, client_secret: s3cret-of-tests", "");
        s.token_status = cases[i].status;
        assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_RETRY);
        assert_int_equal(s.rig.report.degraded, cases[i].slow);
        assert_null(strstr(s.rig.report.error.text, "s3cret"));
        assert_int_equal(s.posts, 0);
        end();
    }
}

static void what_is_shown_for_a_token_stands_in_no_text(void **state)
{
    (void)state;
    FILE *file = fopen("azure.token.tmp", "wb");
    assert_non_null(file);
    fputs("eyJ.assertion+of/tests\n", file);
    fclose(file);
    static const char *const auths[] = {
        "tenant: t, client_id: c, client_secret: 'pass+of/tests&word'",
        "method: workload_identity, tenant: t, client_id: c, token_file: azure.token.tmp"};
    for (size_t i = 0; i < 2; i++) {
        prepare();
        s.token_status = 401;
        s.echoes = true;
        rig_setup(&s.rig, &output_azure_logs, yaml(auths[i], ""));
        assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_RETRY);
        assert_non_null(strstr(s.rig.report.error.text, "***"));
        assert_null(strstr(s.rig.report.error.text, "tests"));
        end();
    }
    remove("azure.token.tmp");
}

/* Answers of another status, of a proxy, or with an invalid token. */
static void write_file(const char *text)
{
    FILE *file = fopen("azure.cert.tmp", "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void files_without_certificate_or_key_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {{"", "it contains no certificate"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n", "it contains no certificate"},
        {"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "it contains no certificate"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "it contains no private key"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
         "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "the key has a password"},
        {"-----BEGIN CERTIFICATE-----\r\nAAAA\r\n-----END CERTIFICATE-----\r\n"
         "-----BEGIN RSA PRIVATE KEY-----\r\nQUJD\r\n-----END RSA PRIVATE KEY-----\r\n",
            "private key"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(cases[i].text);
        begin("method: certificate, tenant: t, client_id: c, certificate: azure.cert.tmp", "");
        assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_RETRY);
        assert_true(s.rig.report.degraded);
        assert_int_equal(http_fake_count(s.fake), 0);
        if (!strstr(s.rig.report.error.text, cases[i].words)) {
            fail_msg("%zu: %s", i, s.rig.report.error.text);
        }
        assert_null(strstr(s.rig.report.error.text, "QUJD"));
        end();
    }
    remove("azure.cert.tmp");
}

static void a_reply_that_may_hold_a_token_is_not_shown(void **state)
{
    (void)state;
    static const struct http_fake_reply replies[] = {
        {.status = 201, .body = "{\"access_token\":\"eyJ.secret\",\"expires_in\":3600}"},
        {.status = 400, .body = "x {\"access_token\" : \"eyJ.secret\"}"},
        {.status = 200, .body = "{\"access_token\":\"eyJ.secret\",\"expires_in\":\"soon\"}"},
        {.status = 200, .body = "{\"access_token\":\"eyJ.secret", .promised = 100}};
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        begin(with_secret, "");
        http_fake_handle(s.fake, NULL, NULL);
        http_fake_script(s.fake, &replies[i], 1);
        assert_int_equal(rig_send(&s.rig, "{}\n"), OUTPUT_RETRY);
        assert_null(strstr(s.rig.report.error.text, "eyJ"));
        end();
    }
}

static void only_a_whole_token_is_one(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{}", "{\"access_token\":\"\",\"expires_in\":1}",
        "{\"access_token\":\"a", "{\"access_token\":\"a b\",\"expires_in\":1}",
        "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":1}",
        "{\"access_token\":5,\"expires_in\":1}", "{\"access_token\":\"a\",\"expires_in\":0}",
        "{\"access_token\":\"a\",\"expires_in\":\"x\"}"};
    struct span text;
    uint64_t seconds;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (http_token_read(span_text(bad[i]), &text, &seconds)) {
            fail_msg("%s", bad[i]);
        }
    }
    assert_true(http_token_read(
        span_text("{\"access_token\":\"a\",\"expires_in\":\"999999999999\"}"), &text, &seconds));
    assert_int_equal(seconds, 24 * 60 * 60);
    /* The lifetime is recommended, not required (RFC 6749, 5.1). */
    assert_true(http_token_read(span_text("{\"access_token\":\"a\"}"), &text, &seconds));
    assert_int_equal(seconds, 5 * 60);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void every_status_has_its_verdict(void **state)
{
    (void)state;
    enum { LATER, SLOW, REJECTED, DELIVERED };
    static const struct {
        int status, outcome;
        const char *words; /* NULL: not compared */
    } cases[] = {{200, DELIVERED, NULL}, {204, DELIVERED, NULL}, {202, DELIVERED, NULL},
        {201, SLOW, NULL}, {302, SLOW, NULL}, {400, REJECTED, NULL},
        {403, SLOW, "Monitoring Metrics Publisher"},
        {404, SLOW, "no such data collection rule or stream"}, {413, REJECTED, NULL},
        {429, LATER, NULL}, {500, LATER, NULL}, {502, LATER, NULL}, {503, LATER, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin(with_secret, "");
        s.answer = (struct http_fake_reply){
            .status = cases[i].status, .headers = "Retry-After: 7\r\n", .body = ""};
        enum output_verdict verdict = rig_send(&s.rig, "{}\n");
        int outcome = verdict == OUTPUT_DELIVERED  ? DELIVERED
                      : verdict == OUTPUT_REJECTED ? REJECTED
                      : s.rig.report.degraded      ? SLOW
                                                   : LATER;
        if (outcome != cases[i].outcome ||
            (cases[i].words && !strstr(s.rig.report.error.text, cases[i].words))) {
            fail_msg("status %d: %d %s", cases[i].status, outcome, s.rig.report.error.text);
        }
        assert_int_equal(s.rig.report.wait_ms, verdict == OUTPUT_DELIVERED ? 0 : 7000);
        end();
    }
}

static void what_is_too_big_or_refused_is_sent_in_pieces(void **state)
{
    (void)state;
    begin(with_secret, "");
    s.limit = 20;
    s.bad = "33";
    assert_int_equal(
        rig_send(&s.rig, "{\"a\":1}\n{\"a\":2}\n{\"a\":33}\n{\"a\":4}\n"), OUTPUT_MIXED);
    assert_int_equal(s.rig.rejected_count, 1);
    assert_int_equal(s.rig.rejected[0].record, 2);
    assert_non_null(strstr(s.rig.rejected[0].reason, "InvalidPayload"));
    assert_null(strstr(s.stored, "33"));
    assert_non_null(strstr(s.stored, "{\"a\":4}"));
    end();
}

static void no_request_is_larger_than_the_service_takes(void **state)
{
    (void)state;
    enum { LINE = 30000, LINES = 100 };
    static char lines[LINE * LINES + 1];
    for (int i = 0; i < LINES; i++) {
        memset(lines + i * LINE, ' ', LINE);
        memcpy(lines + i * LINE, "{\"a\":\"", 6);
        memcpy(lines + (i + 1) * LINE - 3, "\"}\n", 3);
    }
    begin(with_secret, "");
    assert_int_equal(rig_send(&s.rig, lines), OUTPUT_DELIVERED);
    for (size_t i = 1; i < http_fake_count(s.fake); i++) {
        assert_true(http_fake_request(s.fake, i)->body.size <= 1000000);
    }
    assert_int_equal(s.posts, 4);
    end();
}

/* ---- settings, set-up, test-output ----------------------------------------------------------- */

static void settings_that_cannot_be_meant_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *words;
    } cases[] = {
        {"dcr: d, stream: S", "auth: an application needs tenant and client_id"},
        {"dcr: d, stream: S, auth: {tenant: t, client_id: c}", "auth: client_secret is missing"},
        {"dcr: d, stream: S, auth: {method: managed_identity, client_secret: x}",
            "auth: client_secret is for method"},
        {"dcr: d, stream: S, auth: {method: workload_identity, tenant: t, client_id: c}",
            "auth: token_file and method"},
        {"dcr: 'd/../e', stream: S, auth: {method: managed_identity}",
            "dcr: this is not the immutable id"},
        {"dcr: d, stream: 'a/b', auth: {method: managed_identity}", "stream: it has letters"},
        {"dcr: d, stream: '{etw.session}', auth: {method: managed_identity}",
            "stream: it must begin with literal text"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "{endpoint: 'https://a', %s}", cases[i].keys);
        rig_assert_fault(&output_azure_logs, text, cases[i].words);
    }
}

static void set_up_shows_the_table_and_the_rule(void **state)
{
    (void)state;
    static struct output_rig rig;
    struct error err = {0};
    struct config *config = config_create(NULL, NULL);
    void *settings = rig_settings(config, &output_azure_logs,
        "{endpoint: 'https://a', dcr: d, stream: Custom-Mine, auth: {method: managed_identity}}",
        &err);
    for (int ecs = 0; ecs < 2; ecs++) {
        rig = (struct output_rig){.ops = &output_azure_logs};
        assert_true(output_azure_logs.setup(settings,
            &(struct output_talk){
                .format = ecs ? "ecs" : "native", .say = rig_say, .show = rig_show, .host = &rig}));
        assert_non_null(strstr(rig.shown, "\"name\":\"Etw_CL\""));
        assert_non_null(strstr(rig.shown, "\"streamDeclarations\":{\"Custom-Mine\":"));
        assert_non_null(strstr(rig.shown, "\"outputStream\":\"Custom-Etw_CL\""));
        assert_non_null(strstr(rig.shown, ecs ? "winlog.event_data" : "tostring(provider.name)"));
        assert_non_null(strstr(rig.findings, "Monitoring Metrics Publisher"));
        /* Tables of the workspace's own take native events. */
        static const char *const tables[] = {"ASimDnsActivityLogs", "WindowsEvent"};
        for (size_t i = 0; i < 2; i++) {
            char path[64];
            char stream[64];
            snprintf(path, sizeof(path), "dataCollectionRules/{rule}-%s?", tables[i]);
            snprintf(stream, sizeof(stream), "\"outputStream\":\"Microsoft-%s\"", tables[i]);
            assert_int_equal(strstr(rig.shown, path) != NULL, !ecs);
            assert_int_equal(strstr(rig.shown, stream) != NULL, !ecs);
        }
    }
    config_destroy(config);
}

static void an_examination_names_what_is_wrong(void **state)
{
    (void)state;
    struct output_rig rig;
    prepare();
    s.answer = (struct http_fake_reply){.status = 400, .body = ""};
    assert_true(rig_examine(&rig, &output_azure_logs, yaml(as_machine, "")));
    s.answer.status = 403;
    assert_false(rig_examine(&rig, &output_azure_logs, yaml(as_machine, "")));
    assert_non_null(strstr(rig.findings, "lacks the role Monitoring Metrics Publisher"));
    s.token_status = 400;
    assert_false(rig_examine(&rig, &output_azure_logs, yaml(with_secret, "")));
    assert_non_null(strstr(rig.findings, "Entra issued no token"));
    http_fake_stop(s.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_an_array_with_their_time_and_id),
        cmocka_unit_test(each_stream_has_requests_of_its_own),
        cmocka_unit_test(an_application_asks_entra_and_its_token_is_kept),
        cmocka_unit_test(a_token_that_ends_soon_is_renewed_before),
        cmocka_unit_test(a_token_that_is_not_taken_is_renewed_once),
        cmocka_unit_test(a_machine_asks_its_identity_service),
        cmocka_unit_test(no_other_file_than_azure_arcs_is_ever_read),
        cmocka_unit_test(a_workload_shows_the_token_of_its_file),
        cmocka_unit_test(entra_that_gives_no_token_is_told_without_the_secret),
        cmocka_unit_test(what_is_shown_for_a_token_stands_in_no_text),
        cmocka_unit_test(files_without_certificate_or_key_are_named),
        cmocka_unit_test(a_reply_that_may_hold_a_token_is_not_shown),
        cmocka_unit_test(only_a_whole_token_is_one),
        cmocka_unit_test(every_status_has_its_verdict),
        cmocka_unit_test(what_is_too_big_or_refused_is_sent_in_pieces),
        cmocka_unit_test(no_request_is_larger_than_the_service_takes),
        cmocka_unit_test(settings_that_cannot_be_meant_are_refused),
        cmocka_unit_test(set_up_shows_the_table_and_the_rule),
        cmocka_unit_test(an_examination_names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
