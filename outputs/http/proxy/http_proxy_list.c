#include "outputs/http/proxy/http_proxy_list.h"

#include <stdio.h>

enum { HOST_MAX_BYTES = 255, HTTP_PORT = 80, HTTPS_PORT = 443 };

static bool is_nocase(struct span text, const char *expected)
{
    return span_equal_nocase(text, span_text(expected));
}

static bool take_prefix(struct span *text, const char *prefix)
{
    size_t size = strlen(prefix);
    if (!is_nocase(span_first(*text, size), prefix)) {
        return false;
    }
    *text = span_from(*text, size);
    return true;
}

/* Split `host`, `host:port` or `[address]:port`. False: the port is invalid. Without a port
 * ${*ret_port} does not change. */
static bool split_port(struct span text, struct span *ret_host, uint32_t *ret_port)
{
    size_t end = 0;
    const uint8_t *bracket = text.size && text.data[0] == '[' ? memchr(text.data, ']', text.size)
                                                              : NULL;
    if (bracket) {
        end = (size_t)(bracket - text.data) + 1;
    } else {
        while (end < text.size && text.data[end] != ':') {
            end++;
        }
    }
    *ret_host = span_first(text, end);
    struct span digits = span_from(text, end + 1);
    if (end == text.size) {
        return true;
    }
    uint32_t port = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || i == 5) {
            return false;
        }
        port = port * 10 + (digits.data[i] - '0');
    }
    *ret_port = port;
    return text.data[end] == ':' && digits.size && port && port <= 65535;
}

bool http_origin_read(struct span url, struct http_origin *ret_origin)
{
    struct span rest = url;
    bool is_tls = take_prefix(&rest, "https://");
    if (!is_tls && !take_prefix(&rest, "http://")) {
        return false;
    }
    size_t size = 0;
    while (size < rest.size && !strchr("/?#", rest.data[size])) {
        size++;
    }
    size_t scheme_size = (size_t)(rest.data - url.data);
    *ret_origin = (struct http_origin){.scheme = span_first(url, scheme_size - 3),
        .port = is_tls ? HTTPS_PORT : HTTP_PORT,
        .whole = span_first(url, scheme_size + size)};
    return split_port(span_first(rest, size), &ret_origin->host, &ret_origin->port) &&
           ret_origin->host.size;
}

bool http_origin_is_local(const struct http_origin *origin)
{
    static const char part[] = ".localhost";
    struct span host = origin->host;
    bool is_part = host.size > sizeof(part) - 1 &&
                   is_nocase(span_from(host, host.size - (sizeof(part) - 1)), part);
    bool is_number = host.size && host.data[0] == '1';
    for (size_t i = 0; i < host.size && is_number; i++) {
        is_number = memchr("0123456789.", host.data[i], 11) != NULL;
    }
    return is_part || is_nocase(host, "localhost") || span_is(host, "[::1]") ||
           (is_number && span_is(span_first(host, 4), "127."));
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_between(uint8_t c)
{
    return c == ';' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Remove and return the next entry; empty: there is none. */
static struct span next_entry(struct span *list)
{
    while (list->size && is_between(list->data[0])) {
        *list = span_from(*list, 1);
    }
    size_t size = 0;
    while (size < list->size && !is_between(list->data[size])) {
        size++;
    }
    struct span entry = span_first(*list, size);
    *list = span_from(*list, size);
    return entry;
}

/* True for names in the form of DNS and Windows, and for addresses, without characters that have a
 * meaning in a URL. */
static bool is_host(struct span host)
{
    bool has_brackets = host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']';
    struct span inside = has_brackets ? span_make(host.data + 1, host.size - 2) : host;
    for (size_t i = 0; i < inside.size; i++) {
        uint8_t c = span_lower(inside.data[i]);
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
                        c == '_';
        if (!is_plain && !(has_brackets && c == ':')) {
            return false;
        }
    }
    return inside.size && inside.size <= HOST_MAX_BYTES;
}

/* Read `[scheme=][http[s]://]host[:port][/]` ("WINHTTP_PROXY_INFO"). */
static bool read_entry(
    struct span entry, const struct http_origin *origin, char ret_address[HTTP_PROXY_ADDRESS_BYTES])
{
    const uint8_t *equals = memchr(entry.data, '=', entry.size);
    if (equals) {
        struct span scheme = span_first(entry, (size_t)(equals - entry.data));
        if (!span_equal_nocase(scheme, origin->scheme)) {
            return false;
        }
        entry = span_from(entry, scheme.size + 1);
    }
    bool is_tls = take_prefix(&entry, "https://");
    if (!is_tls) {
        take_prefix(&entry, "http://");
    }
    entry.size -= entry.size && entry.data[entry.size - 1] == '/';
    struct span host;
    uint32_t port = is_tls ? HTTPS_PORT : HTTP_PORT;
    if (!split_port(entry, &host, &port) || !is_host(host)) {
        return false;
    }
    snprintf(ret_address, HTTP_PROXY_ADDRESS_BYTES, "%s://%.*s:%u", is_tls ? "https" : "http",
        SPAN_ARG(host), (unsigned)port);
    return true;
}

bool http_proxy_list_next(
    struct span *list, const struct http_origin *origin, char ret_address[HTTP_PROXY_ADDRESS_BYTES])
{
    for (struct span entry = next_entry(list); entry.size; entry = next_entry(list)) {
        if (is_nocase(entry, "DIRECT")) {
            *list = span_make(NULL, 0);
            ret_address[0] = '\0';
            return true;
        }
        if (read_entry(entry, origin, ret_address)) {
            return true;
        }
    }
    return false;
}

/* ---- hosts reached without a proxy ----------------------------------------------------------- */

/* `*` stands for any number of characters. */
static bool fits(struct span pattern, struct span text)
{
    size_t p = 0;
    size_t star = SIZE_MAX;
    size_t after = 0;
    for (size_t t = 0; t < text.size;) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = p++;
            after = t;
        } else if (p < pattern.size && span_lower(pattern.data[p]) == span_lower(text.data[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++after;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*') {
        p++;
    }
    return p == pattern.size;
}

static bool bypasses(struct span entry, const struct http_origin *origin)
{
    if (is_nocase(entry, "<local>")) {
        return !memchr(origin->host.data, '.', origin->host.size) && origin->host.data[0] != '[';
    }
    for (size_t i = 0; i + 3 <= entry.size; i++) {
        if (span_is(span_make(entry.data + i, 3), "://")) {
            if (!span_equal_nocase(span_first(entry, i), origin->scheme)) {
                return false;
            }
            entry = span_from(entry, i + 3);
            break;
        }
    }
    struct span host;
    uint32_t port = origin->port;
    return split_port(entry, &host, &port) && port == origin->port && host.size &&
           host.size <= HOST_MAX_BYTES && fits(host, origin->host);
}

bool http_proxy_list_bypasses(struct span list, const struct http_origin *origin)
{
    for (struct span entry = next_entry(&list); entry.size; entry = next_entry(&list)) {
        if (bypasses(entry, origin)) {
            return true;
        }
    }
    return false;
}
