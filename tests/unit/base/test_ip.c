#define _GNU_SOURCE
#include "base/text/ip.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* The result of inet_pton, which reads both notations, too. */
static void assert_as_inet_pton(const char *text)
{
    struct ip_address address = {.size = 0};
    uint8_t expected[16];
    uint8_t size = inet_pton(AF_INET, text, expected) == 1    ? 4
                   : inet_pton(AF_INET6, text, expected) == 1 ? 16
                                                              : 0;
    bool ok = ip_parse(span_text(text), &address);
    if (ok != (size > 0) || address.size != size || memcmp(address.bytes, expected, size) != 0) {
        fail_msg("%s", text);
    }
}

static const char *const texts[] = {"192.0.2.7", "0.0.0.0", "255.255.255.255", "256.0.0.1", "1.2.3",
    "1.2.3.4.5", "01.2.3.4", "1.2.3.", ".1.2.3", "1..2.3", "a.b.c.d", "", "::", "::1",
    "1::", "2001:db8::1", "2001:DB8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "1::2::3",
    "12345::", ":1", "1:", ":", ":::", "::ffff:10.1.2.3", "::10.1.2.3", "1:2:3:4:5:6:10.1.2.3",
    "1:2:3:4:5:6:7:10.1.2.3", "::10.1.2", "::10.1.2.3.4", "::1%eth0", "g::", "::g", "1.2.3.4:80",
    "::ffff:256.1.2.3", "10.1.2.3::", "1:2", "fe80::1:", "4294967296.1.1.1"};

static void addresses_read_as_inet_pton_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_as_inet_pton(texts[i]);
    }
}

static void random_texts_of_the_right_characters_do_too(void **state)
{
    (void)state;
    static const char alphabet[] = "0125af::::...";
    unsigned seed = 1;
    for (unsigned i = 0; i < 200000; i++) {
        char text[20];
        size_t size = 0;
        unsigned length = 1 + i % 18;
        while (size < length) {
            seed = seed * 1103515245 + 12345;
            text[size++] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
        }
        text[size] = '\0';
        assert_as_inet_pton(text);
    }
}

static void a_network_holds_what_shares_its_leading_bits(void **state)
{
    (void)state;
    static const struct {
        const char *network;
        const char *address;
        bool holds;
    } cases[] = {
        {"10.0.0.0/8", "10.255.255.255", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.9.9.9/8", "10.0.0.1", true},
        {"192.0.2.0/25", "192.0.2.127", true},
        {"192.0.2.0/25", "192.0.2.128", false},
        {"192.0.2.7", "192.0.2.7", true},
        {"192.0.2.7/32", "192.0.2.6", false},
        {"0.0.0.0/0", "1.2.3.4", true},
        {"0.0.0.0/0", "::1", false},
        {"0.0.0.0/0", "::ffff:1.2.3.4", true},
        {"10.0.0.0/8", "::ffff:10.2.3.4", true},
        {"10.0.0.0/8", "::10.2.3.4", false},
        {"::/0", "::1", true},
        {"::/0", "1.2.3.4", false},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"::1/128", "::1", true},
        {"::ffff:10.0.0.0/104", "::ffff:10.2.3.4", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ip_network network;
        struct ip_address address;
        assert_true(ip_network_parse(span_text(cases[i].network), &network));
        assert_true(ip_parse(span_text(cases[i].address), &address));
        if (ip_network_holds(&network, span_make(address.bytes, address.size)) != cases[i].holds) {
            fail_msg("%s %s", cases[i].network, cases[i].address);
        }
    }
}

static void what_is_no_network_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
        "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0.0/8/8", "::/129", "::/0x8", "10.0.0/8", "x"};
    struct ip_network network;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        if (ip_network_parse(span_text(wrong[i]), &network)) {
            fail_msg("%s", wrong[i]);
        }
    }
    assert_false(ip_network_holds(&(struct ip_network){.address = {.size = 4}}, span_text("abc")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_read_as_inet_pton_reads_them),
        cmocka_unit_test(random_texts_of_the_right_characters_do_too),
        cmocka_unit_test(a_network_holds_what_shares_its_leading_bits),
        cmocka_unit_test(what_is_no_network_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
