#include "app_modules_rig.h"

/* Values that the tables of outputs accept and refuse. */

static void an_output_that_stands_alone_has_one_worker(void **state)
{
    (void)state;
    assert_first(ONE_FILE, "outputs: [{type: stdout, workers: 2}]",
        "f.yaml:3:35: error: workers: output type stdout works with one. remove the key");
    assert_first(ONE_FILE, "outputs: [{type: file, path: x, workers: 2}]",
        "f.yaml:3:42: error: workers: output type file works with one. remove the key");
    assert_first(ONE_FILE, "outputs: [{type: stdout, workers: 1}]", "");
}

static void outputs_over_http_check_what_belongs_together(void **state)
{
    (void)state;
    static const struct {
        const char *output;
        const char *at;    /* the error is at this text */
        const char *error; /* without its place; "": none */
    } cases[] = {
        {"{type: http, url: 'https://h/x', framing: json_array, compression: zstd, headers: {X-A: "
         "b}, "
         "auth: {user: u, password: p}, proxy: '', tls: {ca: c, cert: d, key: e, verify: ca, "
         "min_version: 1.3, pin_sha256: ['AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=']}}",
            "", ""},
        {"{type: elasticsearch, hosts: ['http://h:9200'], index: 'etw-{provider.name}-%Y.%m.%d', "
         "auth: {bearer: t}, max_string: 16000, uint64: number, retry: {max_age: 1h}}",
            "", ""},
        {"{type: http, url: h}", "h}",
            "url: this is not an address. write it as in https://host:9200"},
        {"{type: http, url: 'https:///x'}", "'https:///x",
            "url: this is not an address. write it as in https://host:9200"},
        {"{type: http, url: 'https://u:secret@h/'}", "'https://u",
            "url: the address holds a user or a password. write them under auth"},
        {"{type: http, url: 'https://h/a b'}", "'https://h/a",
            "url: the address holds a space. remove it"},
        {"{type: http, url: 'https://h', headers: {'a b': c}}", "c}}",
            "headers: 'a b' cannot be the name of a header. write letters, digits and -"},
        {"{type: http, url: 'https://h', headers: {a: \"b\\nc: d\"}}", "\"b",
            "headers: the value of 'a' holds a line break or another control character. remove "
            "it"},
        {"{type: http, url: 'https://h', headers: {content-length: 1}}", "1}}",
            "headers: the output itself sets content-length. remove it"},
        {"{type: http, url: 'https://h', headers: {authorization: x}, auth: {bearer: y}}", "x}",
            "headers: Authorization repeats auth. keep one of the two"},
        {"{type: http, url: 'https://h', framing: splunk_hec, source: a, sourcetype: b, index: c, "
         "headers: {authorization: Splunk x}, connect_timeout: 1s, timeout: 1m}",
            "", ""},
        {"{type: http, url: 'https://h', sourcetype: b}", "b}",
            "sourcetype: only Splunk has it. set framing: splunk_hec, or remove it"},
        {"{type: http, url: 'https://h', method: PUT, framing: json_array}", "", ""},
        {"{type: http, url: 'https://h', method: GET}", "GET",
            "method: 'GET' is not known. use one of: POST, PUT"},
        {"{type: http, url: 'https://h', framing: splunk_hec, method: PUT}", "PUT",
            "method: Splunk takes only POST. remove it"},
        {"{type: http, url: 'https://h', auth: {user: u}}", "{user",
            "auth: user and password belong together. add the other"},
        {"{type: http, url: 'https://h', auth: {api_key: a, bearer: b}}", "{api",
            "auth: more than one way to log in. keep api_key, bearer, or user and password"},
        {"{type: http, url: 'https://h', tls: {cert: a}}", "{cert",
            "tls: cert and key belong together. add the other"},
        {"{type: http, url: 'https://h', tls: {cert: a.PFX}}", "", ""},
        {"{type: http, url: 'https://h', tls: {cert: a.p12, key: b}}", "b}",
            "tls: the file of cert holds its key. remove key"},
        {"{type: http, url: 'https://h', tls: {revocation: strict, client_cert: "
         "'LocalMachine\\MY\\0123456789abcdefABCDEF0123456789abcdef01'}}",
            "", ""},
        {"{type: http, url: 'https://h', tls: {cert: a.p12, client_cert: "
         "'CurrentUser\\MY\\0123456789abcdefABCDEF0123456789abcdef01'}}",
            "'Curr",
            "tls: client_cert and cert both name the certificate of this program. keep one of the "
            "two"},
        {"{type: http, url: 'https://h', tls: {client_cert: ours.pem}}", "ours",
            "tls: client_cert: this names no certificate in a store. write it as in "
            "LocalMachine\\MY\\THUMBPRINT"},
        {"{type: http, url: 'https://h', tls: {client_cert: 'localmachine\\MY\\01'}}", "'local",
            "tls: client_cert: upper and lower case matter here. write LocalMachine"},
        {"{type: http, url: 'https://h', tls: {client_cert: 'Here\\MY\\01'}}", "'Here",
            "tls: client_cert: 'Here' is not a location of certificate stores. write LocalMachine, "
            "or CurrentUser for that of the account the agent runs as"},
        {"{type: http, url: 'https://h', tls: {client_cert: 'LocalMachine\\MY\\01 23'}}", "'Local",
            "tls: client_cert: '01 23' is not a thumbprint. write its 40 hexadecimal digits, "
            "without spaces. PowerShell shows them: dir Cert:\\LocalMachine\\My"},
        {"{type: http, url: 'https://h', tls: {revocation: soft}}", "soft",
            "revocation: 'soft' is not known. use one of: best_effort, strict, none"},
        {"{type: http, url: 'https://h', tls: {pin_sha256: [abc]}}", "abc]",
            "tls: pin_sha256: 'abc' is not a SHA-256 in base64. write its 44 characters"},
        {"{type: http, url: 'https://h', tls: {ca: "
         "b9a10bbe64ee9826abeda6546fc988c8bf798b41957c33d05db736716513dc9c}}",
            "", ""},
        {"{type: http, url: 'https://h', tls: {ca: "
         "DA:39:A3:EE:5E:6B:4B:0D:32:55:BF:EF:95:60:18:90}}",
            "DA",
            "tls: ca: 'DA:39:A3:EE:5E:6B:4B:0D:32:55:BF:EF:95:60:18:90' is not a SHA-256 "
            "fingerprint. write its 64 digits, or the path of a file"},
        {"{type: http, url: 'https://h', tls: {verify: none, ca: "
         "b9a10bbe64ee9826abeda6546fc988c8bf798b41957c33d05db736716513dc9c}}",
            "none",
            "tls: verify: none accepts every server, so ca has no effect. remove one of the two"},
        {"{type: http, url: 'https://h', proxy: h}", "h}",
            "proxy: this is not an address. write it as in http://gateway.example, or system"},
        {"{type: http, url: 'https://h', proxy: system}", "", ""},
        {"{type: elasticsearch, hosts: [h]}", "h]",
            "hosts: this is not an address. write it as in https://host:9200"},
        {"{type: elasticsearch, hosts: ['http://h/?x=SECRET']}", "'http://h/?",
            "hosts: the address ends in a query, which no request to a cluster has. remove it from "
            "the ? or # on, and write keys under auth"},
        {"{type: elasticsearch, hosts: ['http://h'], index: '{provider.name}'}", "'{provider",
            "index: it must begin with a literal letter or digit. write one first, as in "
            "etw-{provider.name}"},
        {"{type: elasticsearch, hosts: ['http://h'], index: Etw}", "Etw",
            "index: 'E' is not allowed in it. write lower case letters, digits, '_' and '.'"},
        {"{type: elasticsearch, hosts: ['http://h'], data_stream: {dataset: a-b}}", "-b}",
            "dataset: '-' is not allowed in it. write lower case letters, digits, '_' and '.'"},
        {"{type: elasticsearch, hosts: ['http://h'], data_stream: {dataset: a}, index: b}", "b}",
            "index: there is a data_stream, too. keep one of the two"},
        {"{type: elasticsearch, hosts: ['http://h'], data_stream: {namespace: '{host.name}'}}",
            "'{host",
            "namespace: it is the same for all events. write it without braces and percent signs"},
        {"{type: elasticsearch, hosts: ['http://h'], data_stream: {dataset: 'etw.{provider.nam}'}}",
            "provider.nam}'}}",
            "dataset: events have no field provider.nam. did you mean provider.name?"},
        {"{type: elasticsearch, hosts: ['http://h'], index: a b}", " b}",
            "index: ' ' is not allowed in it. write lower case letters, digits, '_' and '.'"},
        {"{type: elasticsearch, hosts: ['http://h'], index: -a}", "-a}",
            "index: it must begin with a literal letter or digit. write one first, as in "
            "etw-{provider.name}"},
        {"{type: elasticsearch, hosts: ['http://h'], compression: zstd}", "zstd",
            "compression: 'zstd' is not known. use one of: none, gzip"},
        {"{type: elasticsearch, hosts: ['http://h'], action: index}", "index}",
            "action: a data stream accepts only create. write create, or an index to write to"},
        {"{type: elasticsearch, hosts: ['http://h'], require_alias: true, require_data_stream: "
         "true}",
            "true}",
            "require_data_stream: nothing is a data stream and an alias. keep one of the two"},
        {"{type: elasticsearch, hosts: ['http://h'], index: a, require_data_stream: true}", "true}",
            "require_data_stream: index names an index. remove one of the two"},
        {"{type: elasticsearch, hosts: ['http://h'], index: 'a-{provider.name}', action: index, "
         "pipeline: p, routing: '\"', ids: false, require_alias: true, compression: none}",
            "", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char rest[512];
        char expected[512];
        snprintf(rest, sizeof(rest), "outputs:\n- %s", cases[i].output);
        snprintf(expected, sizeof(expected), "f.yaml:4:%d: error: %s",
            (int)(strstr(cases[i].output, cases[i].at) - cases[i].output) + 3, cases[i].error);
        assert_first(ONE_FILE, rest, cases[i].error[0] ? expected : "");
    }
}

/* They come before every event of a request: with many events the body would be too long to
 * send. */
static void what_stands_in_front_of_each_event_is_short(void **state)
{
    (void)state;
    static const char *const keys[] = {"pipeline", "routing"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char rest[1024];
        char expected[256];
        for (int bytes = 512; bytes <= 513; bytes++) {
            int place = snprintf(rest, sizeof(rest),
                "outputs:\n- {type: elasticsearch, hosts: ['http://h'], %s: ", keys[i]);
            snprintf(rest + place, sizeof(rest) - (size_t)place, "%0*d}", bytes, 1);
            snprintf(expected, sizeof(expected),
                "f.yaml:4:%d: error: %s: more than 512 bytes. write a shorter one", place - 8,
                keys[i]);
            assert_first(ONE_FILE, rest, bytes > 512 ? expected : "");
        }
    }
}

static void a_wrong_template_points_at_the_place_in_it(void **state)
{
    (void)state;
    assert_first(ONE_FILE, "outputs:\n- type: file\n  path: x-{bad}",
        "f.yaml:5:12: error: path: events have no field bad. values of the payload are data.NAME");
    assert_first(ONE_FILE, "outputs:\n- {type: file, path: '/tmp/\xc3\xa4-%q'}",
        "f.yaml:4:30: error: path: not a part of the time. write one of %Y %m %d %H %M, or %% for "
        "a percent sign");
    assert_first(ONE_FILE, "outputs:\n- {type: file, path: \"x\\u002d{bad}\"}",
        "f.yaml:4:22: error: path: events have no field bad. values of the payload are data.NAME "
        "(character 4 of the whole)");
    assert_first(ONE_FILE, "outputs:\n- {type: file, path: 'x*'}",
        "f.yaml:4:22: error: path: * and ? are not allowed in it. write {field}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_that_stands_alone_has_one_worker),
        cmocka_unit_test(outputs_over_http_check_what_belongs_together),
        cmocka_unit_test(what_stands_in_front_of_each_event_is_short),
        cmocka_unit_test(a_wrong_template_points_at_the_place_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
