#include "support/winhttp_fake.h"

#include <stdio.h>

#include "outputs/http/proxy/http_proxy.h"

#define SECOND_NS UINT64_C(1000000000)

static char notes[8][1024];
static size_t note_count;

static void take_note(void *host, const char *text)
{
    (void)host;
    assert_true(note_count < 8);
    snprintf(notes[note_count++], sizeof(notes[0]), "%s", text);
}

static void make(struct http_proxy *proxy, const struct winhttp_fake *says)
{
    winhttp_fake_set(says);
    note_count = 0;
    http_proxy_use(&winhttp_fake_api, winhttp_fake_env);
    assert_true(http_proxy_init(proxy, "system"));
    proxy->note = take_note;
}

static const char *proxy_for(struct http_proxy *proxy, const char *url, uint64_t now_ns)
{
    const char *address = "not set";
    assert_true(http_proxy_for(proxy, url, now_ns, &address));
    return address;
}

static void end(struct http_proxy *proxy)
{
    http_proxy_fini(proxy);
    http_proxy_use(NULL, winhttp_fake_env);
    winhttp_fake_check();
}

static void settings_are_asked_in_their_order(void **state)
{
    (void)state;
    static const struct {
        struct winhttp_fake says;
        const char *proxy, *note;
        int asked;
    } cases[] = {
        {{.machine = "m:1", .detects = true, .answer = "s:2", .user = "u:3"}, "http://m:1",
            "proxy http://m:1 for https://es1.example:9200, by WinHTTP's settings of the machine",
            0},
        {{.machine = "m:1", .machine_bypass = "*.example", .user = "u:3"}, "",
            "no proxy for https://es1.example:9200, by WinHTTP's settings of the machine", 0},
        {{.detects = true, .answer = "s:2", .user = "u:3"}, "http://s:2",
            "proxy http://s:2 for https://es1.example:9200, by WPAD or a script (PAC)", 1},
        {{.script = "http://pac/x", .user = "u:3"}, "",
            "no proxy for https://es1.example:9200, by WPAD or a script (PAC)", 1},
        {{.script = "http://pac/x", .answer = "s:2", .wants_login = true}, "http://s:2",
            "proxy http://s:2 for https://es1.example:9200, by WPAD or a script (PAC)", 2},
        {{.detects = true, .error = 12180, .user = "http=a:1;https=u:3"}, "http://u:3",
            "proxy http://u:3 for https://es1.example:9200, by the proxy settings of the account",
            1},
        {{.detects = true, .error = 12180}, "",
            "no proxy for https://es1.example:9200: Windows is configured to find one by WPAD or a "
            "script (PAC), which gave no answer (WinHTTP error 12180)",
            1},
        {{.user = "u:3", .user_bypass = "es1.example"}, "",
            "no proxy for https://es1.example:9200, by the proxy settings of the account", 0},
        {{.no_user = true}, "",
            "no proxy for https://es1.example:9200: Windows has no setting for one", 0},
        {{.machine = ""}, "",
            "no proxy for https://es1.example:9200: Windows has no setting for one", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_proxy proxy;
        make(&proxy, &cases[i].says);
        assert_string_equal(
            proxy_for(&proxy, "https://es1.example:9200/_bulk?x", 0), cases[i].proxy);
        assert_int_equal(note_count, 1);
        assert_string_equal(notes[0], cases[i].note);
        assert_int_equal(winhttp.asked, cases[i].asked);
        end(&proxy);
    }
}

/* The script gets only the host: paths and queries may contain keys. */
static void a_script_is_asked_as_it_is_set_up(void **state)
{
    (void)state;
    struct http_proxy proxy;
    make(&proxy, &(struct winhttp_fake){.script = "http://pac/x", .answer = "s:2"});
    proxy_for(&proxy, "https://es1:9200/path?key", 0);
    assert_string_equal(winhttp.url, "https://es1:9200/");
    assert_int_equal(winhttp.how.flags, 2);
    assert_int_equal(winhttp.how.logs_in, 0);
    winhttp.detects = true;
    proxy_for(&proxy, "https://es2:9200", 0);
    assert_int_equal(winhttp.how.flags, 3);
    assert_int_equal(winhttp.how.detect_flags, 3);
    end(&proxy);
}

/* A host that answers the search for a script must not get our credentials. */
static void the_account_logs_in_for_a_named_script_alone(void **state)
{
    (void)state;
    struct http_proxy proxy;
    make(&proxy, &(struct winhttp_fake){.detects = true, .answer = "s:2", .wants_login = true});
    proxy_for(&proxy, "https://es1:9200/", 0);
    assert_int_equal(winhttp.asked, 1);
    assert_int_equal(winhttp.how.logs_in, 0);
    winhttp.script = "http://pac/x";
    proxy_for(&proxy, "https://es2:9200/", 0);
    assert_int_equal(winhttp.asked, 3);
    assert_int_equal(winhttp.how.logs_in, 1);
    assert_int_equal(winhttp.how.flags, PLAT_WINHTTP_SCRIPT);
    assert_int_equal(winhttp.how.detect_flags, 0);
    end(&proxy);
}

static void answers_are_kept_for_a_while(void **state)
{
    (void)state;
    struct http_proxy proxy;
    make(&proxy, &(struct winhttp_fake){.script = "http://pac/x", .answer = "s:2"});
    assert_string_equal(proxy_for(&proxy, "https://es1/", 1), "http://s:2");
    winhttp.answer = "t:3";
    assert_string_equal(proxy_for(&proxy, "https://es1/y", 299 * SECOND_NS), "http://s:2");
    assert_int_equal(winhttp.asked, 1);
    assert_string_equal(proxy_for(&proxy, "https://es1", 301 * SECOND_NS), "http://t:3");
    assert_string_equal(proxy_for(&proxy, "https://es1", 700 * SECOND_NS), "http://t:3");
    assert_int_equal(winhttp.asked, 3);
    assert_int_equal(note_count, 2); /* notes of changes only */

    /* The memory is bounded, so the first one is searched for again. */
    for (unsigned i = 0; i < HTTP_PROXY_KEPT; i++) {
        char url[64];
        snprintf(url, sizeof(url), "https://other%u", i);
        note_count = 0;
        proxy_for(&proxy, url, 701 * SECOND_NS);
    }
    assert_int_equal(winhttp.asked, 3 + HTTP_PROXY_KEPT);
    proxy_for(&proxy, "https://es1", 702 * SECOND_NS);
    assert_int_equal(winhttp.asked, 4 + HTTP_PROXY_KEPT);
    proxy_for(&proxy, "https://other15", 702 * SECOND_NS);
    assert_int_equal(winhttp.asked, 4 + HTTP_PROXY_KEPT);
    end(&proxy);
}

/* A network that has proxies may want to see all its outgoing requests. */
static void the_next_one_is_taken_and_behind_the_last_the_first_again(void **state)
{
    (void)state;
    static const char lost[] = "none of the proxies that WinHTTP's settings of the machine names "
                               "for https://es1 can be connected to. the agent tries them again "
                               "from the first on, and does not connect without a proxy";
    struct http_proxy proxy;
    make(&proxy, &(struct winhttp_fake){.machine = "a:1;b:2"});
    assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://a:1");
    http_proxy_failed(&proxy, "https://es1/x");
    assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://b:2");
    assert_string_equal(
        notes[1], "proxy http://b:2 for https://es1, by WinHTTP's settings of the machine");
    for (int round = 0; round < 3; round++) { /* one note, however long it lasts */
        http_proxy_failed(&proxy, "https://es1");
        assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://a:1");
        http_proxy_failed(&proxy, "https://es1");
        assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://b:2");
    }
    http_proxy_failed(&proxy, "https://unknown");
    assert_string_equal(proxy_for(&proxy, "https://es1", 301 * SECOND_NS), "http://a:1");
    assert_int_equal(note_count, 3);
    assert_string_equal(notes[2], lost);
    http_proxy_failed(&proxy, "https://es1");
    http_proxy_reached(&proxy, "https://es1/y");
    http_proxy_reached(&proxy, "https://es1/y");
    assert_int_equal(note_count, 4);
    assert_string_equal(notes[3], notes[1]);
    assert_string_equal(proxy_for(&proxy, "https://es1", 302 * SECOND_NS), "http://b:2");
    http_proxy_failed(&proxy, "https://es1");
    assert_int_equal(note_count, 5);
    assert_string_equal(notes[4], lost);
    end(&proxy);
}

static void a_single_proxy_stays_the_only_way(void **state)
{
    (void)state;
    struct http_proxy proxy;
    make(&proxy, &(struct winhttp_fake){.script = "http://pac/x", .answer = "s:2"});
    for (int i = 0; i < 3; i++) {
        assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://s:2");
        http_proxy_failed(&proxy, "https://es1");
    }
    assert_int_equal(note_count, 2);
    winhttp.answer = "t:3";
    assert_string_equal(proxy_for(&proxy, "https://es1", 301 * SECOND_NS), "http://t:3");
    assert_int_equal(note_count, 3);
    end(&proxy);
}

static void without_a_proxy_it_goes_only_where_the_answer_says_so(void **state)
{
    (void)state;
    struct http_proxy proxy;
    make(
        &proxy, &(struct winhttp_fake){.script = "http://pac/x", .answer = "s:2; DIRECT; never:3"});
    assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://s:2");
    http_proxy_failed(&proxy, "https://es1");
    assert_string_equal(proxy_for(&proxy, "https://es1", 0), "");
    http_proxy_failed(&proxy, "https://es1"); /* no longer of a proxy */
    assert_string_equal(proxy_for(&proxy, "https://es1", 0), "");
    assert_int_equal(note_count, 2);
    assert_string_equal(notes[1],
        "no proxy for https://es1, as none of those that WPAD or a script (PAC) names before "
        "DIRECT can be connected to");
    assert_string_equal(proxy_for(&proxy, "https://es1", 301 * SECOND_NS), "http://s:2");
    assert_int_equal(note_count, 3);
    winhttp.answer = "direct";
    assert_string_equal(proxy_for(&proxy, "https://es2", 0), "");
    assert_string_equal(notes[3], "no proxy for https://es2, by WPAD or a script (PAC)");
    end(&proxy);
}

static void what_is_configured_or_of_this_machine_is_not_asked_for(void **state)
{
    (void)state;
    struct http_proxy proxy;
    make(&proxy, &(struct winhttp_fake){.machine = "m:1"});
    assert_string_equal(proxy_for(&proxy, "http://127.0.0.1:9200", 0), "");
    assert_null(proxy_for(&proxy, "ftp://x", 0));
    http_proxy_fini(&proxy);
    assert_true(http_proxy_init(&proxy, ""));
    assert_string_equal(proxy_for(&proxy, "http://es1", 0), "");
    http_proxy_fini(&proxy);
    assert_true(http_proxy_init(&proxy, "http://u:p@gateway:1"));
    assert_string_equal(proxy_for(&proxy, "http://es1", 0), "http://u:p@gateway:1");
    http_proxy_failed(&proxy, "http://es1");
    assert_string_equal(proxy_for(&proxy, "http://es1", 0), "http://u:p@gateway:1");
    assert_int_equal(note_count, 0);
    end(&proxy);
}

static bool stop_when_it_hangs(void *host)
{
    (void)host;
    winhttp_fake_wait(1);
    return true;
}

/* The address has no known proxy then: it is searched for again. */
static void a_stop_does_not_wait_for_windows(void **state)
{
    (void)state;
    struct http_proxy proxy;
    const char *address;
    make(&proxy, &(struct winhttp_fake){.detects = true, .answer = "s:2", .hangs = true});
    proxy.stopping = stop_when_it_hangs;
    assert_false(http_proxy_for(&proxy, "https://es1", 0, &address));
    assert_int_equal(note_count, 0);
    winhttp_fake_release();
    assert_string_equal(proxy_for(&proxy, "https://es1", 0), "http://s:2");
    assert_int_equal(winhttp.asked, 2);
    end(&proxy);
}

/* The variables that libcurl reads, by its manual (CURLOPT_PROXY). */
static void the_environment_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool http, https; /* the variable decides for these */
    } cases[] = {{"http_proxy", true, false}, {"https_proxy", false, true},
        {"HTTPS_PROXY", false, true}, {"all_proxy", true, true}, {"ALL_PROXY", true, true},
        {"HTTP_PROXY", false, false}, {"NO_PROXY", false, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_proxy proxy;
        make(&proxy, &(struct winhttp_fake){.machine = "m:1"});
        winhttp_fake_variable = cases[i].name;
        const char *of_http = proxy_for(&proxy, "http://es1", 0);
        assert_true(cases[i].http ? !of_http : of_http && strcmp(of_http, "http://m:1") == 0);
        const char *of_https = proxy_for(&proxy, "https://es1", 0);
        assert_true(cases[i].https ? !of_https : of_https && strcmp(of_https, "http://m:1") == 0);
        end(&proxy);
    }
    winhttp_fake_variable = NULL;
}

static void without_winhttp_libcurl_decides(void **state)
{
    (void)state;
    struct plat_winhttp own;
    struct http_proxy proxy;
    if (plat_winhttp_load(&own)) {
        skip();
    }
    http_proxy_use(NULL, winhttp_fake_env);
    assert_true(http_proxy_init(&proxy, NULL));
    assert_null(proxy_for(&proxy, "http://es1", 0));
    http_proxy_fini(&proxy);
}

/* Windows' own functions, or Wine's, give some answer. */
static void windows_answers(void **state)
{
    (void)state;
    struct plat_winhttp own;
    struct http_proxy proxy;
    if (!plat_winhttp_load(&own)) {
        skip();
    }
    http_proxy_use(NULL, winhttp_fake_env);
    assert_true(http_proxy_init(&proxy, NULL));
    assert_non_null(proxy_for(&proxy, "http://es1.example", 0));
    http_proxy_fini(&proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_asked_in_their_order),
        cmocka_unit_test(a_script_is_asked_as_it_is_set_up),
        cmocka_unit_test(the_account_logs_in_for_a_named_script_alone),
        cmocka_unit_test(answers_are_kept_for_a_while),
        cmocka_unit_test(the_next_one_is_taken_and_behind_the_last_the_first_again),
        cmocka_unit_test(a_single_proxy_stays_the_only_way),
        cmocka_unit_test(without_a_proxy_it_goes_only_where_the_answer_says_so),
        cmocka_unit_test(what_is_configured_or_of_this_machine_is_not_asked_for),
        cmocka_unit_test(a_stop_does_not_wait_for_windows),
        cmocka_unit_test(the_environment_comes_first),
        cmocka_unit_test(without_winhttp_libcurl_decides),
        cmocka_unit_test(windows_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
