#include "support/test.h"

#include <stdio.h>

#include "outputs/http/proxy/http_proxy_list.h"

static struct http_origin origin_of(const char *url)
{
    struct http_origin origin;
    assert_true(http_origin_read(span_text(url), &origin));
    return origin;
}

static void the_origin_of_an_address_has_a_port(void **state)
{
    (void)state;
    static const struct {
        const char *url, *scheme, *host, *whole;
        uint32_t port; /* 0: not a proxy */
    } cases[] = {
        {"https://es1:9200/a?b", "https", "es1", "https://es1:9200", 9200},
        {"http://h", "http", "h", "http://h", 80},
        {"HTTPS://H#x", "HTTPS", "H", "HTTPS://H", 443},
        {"https://[fe80::1]:1/", "https", "[fe80::1]", "https://[fe80::1]:1", 1},
        {"https://[::1]", "https", "[::1]", "https://[::1]", 443},
        {"ftp://h", NULL, NULL, NULL, 0},
        {"https://", NULL, NULL, NULL, 0},
        {"https://h:", NULL, NULL, NULL, 0},
        {"https://h:65536", NULL, NULL, NULL, 0},
        {"https://h:123456", NULL, NULL, NULL, 0},
        {"https://h:8o", NULL, NULL, NULL, 0},
        {"https://[::1]x", NULL, NULL, NULL, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_origin origin;
        assert_int_equal(http_origin_read(span_text(cases[i].url), &origin), cases[i].port != 0);
        if (cases[i].port) {
            assert_true(span_is(origin.scheme, cases[i].scheme));
            assert_true(span_is(origin.host, cases[i].host));
            assert_true(span_is(origin.whole, cases[i].whole));
            assert_int_equal(origin.port, cases[i].port);
        }
    }
}

static void this_machine_is_known_by_its_names(void **state)
{
    (void)state;
    static const char *const local[] = {"http://localhost", "http://LOCALHOST:9200",
        "http://a.localhost", "http://127.0.0.1", "http://127.9.9.9:1", "https://[::1]:9200"};
    static const char *const others[] = {"http://localhost.example", "http://127.example",
        "http://127.0.0.1.example", "http://128.0.0.1", "http://[::2]", "http://xlocalhost"};
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        struct http_origin origin = origin_of(local[i]);
        assert_true(http_origin_is_local(&origin));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct http_origin origin = origin_of(others[i]);
        assert_false(http_origin_is_local(&origin));
    }
}

/* Lists as documented at WINHTTP_PROXY_INFO and in "Setting WinINet options"; ports by Chromium's
 * reading. */
static void proxies_for_a_scheme_come_in_their_order(void **state)
{
    (void)state;
    static const struct {
        const char *list, *url, *found;
    } cases[] = {
        {"gateway.example:8080", "https://h", "http://gateway.example:8080"},
        {"gateway.example", "http://h", "http://gateway.example:80"},
        {"http=a:1;https=b:2", "https://h", "http://b:2"},
        {"http=a:1;https=b:2", "http://h", "http://a:1"},
        {"HTTPS=b:2", "https://h", "http://b:2"},
        {"a:1;b:2 c:3\tD.example:4;;", "https://h",
            "http://a:1 http://b:2 http://c:3 http://D.example:4"},
        {"http=a:1;socks=s:1080", "https://h", ""},
        {"http=http://a:1/;https=https://b", "https://h", "https://b:443"},
        {"[fe80::1]:3128", "https://h", "http://[fe80::1]:3128"},
        {"", "https://h", ""},
        {"DIRECTOR:1", "https://h", "http://DIRECTOR:1"},
        {"u:p@evil:1;a b/../c;p:0;p:70000;[;];=;a=;=b;\"x\";p:1?;ok:2", "https://h",
            "http://a:80 http://ok:2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char all[512] = "";
        char address[HTTP_PROXY_ADDRESS_BYTES];
        struct span list = span_text(cases[i].list);
        struct http_origin origin = origin_of(cases[i].url);
        while (http_proxy_list_next(&list, &origin, address)) {
            size_t size = strlen(all);
            snprintf(all + size, sizeof(all) - size, "%s%.200s", size ? " " : "", address);
        }
        assert_string_equal(all, cases[i].found);
    }
}

static void hosts_without_a_proxy_are_told_by_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *list, *url;
        bool bypassed;
    } cases[] = {
        {"<local>", "https://es1:9200", true},
        {"<LOCAL>", "https://es1", true},
        {"<local>", "https://es1.example", false},
        {"<local>", "https://[fe80::1]", false},
        {"*.example.com", "https://ES1.Example.COM:9200", true},
        {"*.example.com", "https://example.com", false},
        {"*.example.com", "https://es1.example.com.evil", false},
        {"10.*;192.168.*", "https://192.168.1.2", true},
        {"10.*; 192.168.*", "https://110.1.1.1", false},
        {"*", "https://anything.example", true},
        {"es1:9200", "https://es1:9200", true},
        {"es1:9200", "https://es1", false},
        {"http://es1", "https://es1", false},
        {"https://es1", "https://es1", true},
        {"e*1*.b*", "https://es1.a.b.c", true},
        {"e*2*", "https://es1.a.b.c", false},
        {"", "https://h", false},
        {";; <locl> [", "https://h", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_origin origin = origin_of(cases[i].url);
        if (http_proxy_list_bypasses(span_text(cases[i].list), &origin) != cases[i].bypassed) {
            print_error("%s %s\n", cases[i].list, cases[i].url);
            fail();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_origin_of_an_address_has_a_port),
        cmocka_unit_test(this_machine_is_known_by_its_names),
        cmocka_unit_test(proxies_for_a_scheme_come_in_their_order),
        cmocka_unit_test(hosts_without_a_proxy_are_told_by_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
