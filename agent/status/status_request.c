#include "status/status_request.h"

#include "base/hex.h"
#include "base/text/ip.h"

static bool is_token(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_visible(uint8_t c)
{
    return c > ' ' && c < 0x7f;
}

static bool all(struct span text, bool (*is)(uint8_t c))
{
    for (size_t i = 0; i < text.size; i++) {
        if (!is(text.data[i])) {
            return false;
        }
    }
    return text.size > 0;
}

/* Remove the next line, without its CRLF. False: incomplete, or with a lone CR or LF
 * (${*ret_bad}). */
static bool next_line(struct span *rest, struct span *ret_line, bool *ret_bad)
{
    for (size_t i = 0; i < rest->size; i++) {
        uint8_t c = rest->data[i];
        if (c == '\n' || c == 0) {
            *ret_bad = true;
            return false;
        }
        if (c == '\r') {
            bool whole = i + 1 < rest->size;
            *ret_bad = whole && rest->data[i + 1] != '\n';
            if (whole && !*ret_bad) {
                *ret_line = span_first(*rest, i);
                *rest = span_from(*rest, i + 2);
            }
            return whole && !*ret_bad;
        }
    }
    return false;
}

/* Remove the text before ${separator}. False: no separator. */
static bool split(struct span *rest, uint8_t separator, struct span *ret_part)
{
    const uint8_t *at = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
    if (!at) {
        return false;
    }
    *ret_part = span_first(*rest, (size_t)(at - rest->data));
    *rest = span_from(*rest, ret_part->size + 1);
    return true;
}

static enum status_parse parse_request_line(struct span line, struct status_request *request)
{
    struct span method;
    struct span target;
    if (!split(&line, ' ', &method) || !split(&line, ' ', &target) || !all(method, is_token) ||
        !all(target, is_visible) || target.data[0] != '/') {
        return STATUS_PARSE_BAD;
    }
    if (!span_is(line, "HTTP/1.1") && !span_is(line, "HTTP/1.0")) {
        return STATUS_PARSE_BAD;
    }
    request->query = target;
    if (!split(&request->query, '?', &request->path)) {
        request->path = target;
        request->query = span_make(target.data, 0);
    }
    return span_is(method, "GET") ? STATUS_PARSE_DONE : STATUS_PARSE_METHOD;
}

/* A value may have blanks and bytes of UTF-8, but no control characters. */
static bool is_value(uint8_t c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool set_once(struct span *member, struct span value)
{
    bool first = !member->data;
    *member = value;
    return first;
}

static bool parse_header(struct span line, struct status_request *request)
{
    struct span name;
    if (!split(&line, ':', &name) || !all(name, is_token)) {
        return false;
    }
    struct span value = span_trim(line);
    if (value.size && !all(value, is_value)) {
        return false;
    }
    if (span_equal_nocase(name, span_text("host"))) {
        return set_once(&request->host, value);
    }
    if (span_equal_nocase(name, span_text("authorization"))) {
        return set_once(&request->authorization, value);
    }
    if (span_equal_nocase(name, span_text("accept"))) {
        request->accept = value;
    }
    if (span_equal_nocase(name, span_text("content-length"))) {
        return span_is(value, "0");
    }
    return !span_equal_nocase(name, span_text("transfer-encoding"));
}

/* Result for bytes that end within a line. */
static enum status_parse unfinished(struct span bytes, size_t limit, bool bad)
{
    return bad ? STATUS_PARSE_BAD : bytes.size >= limit ? STATUS_PARSE_LARGE : STATUS_PARSE_MORE;
}

enum status_parse status_request_parse(struct span bytes, struct status_request *ret_request)
{
    struct span rest = span_first(bytes, STATUS_REQUEST_MAX_BYTES);
    struct span line;
    bool bad = false;
    *ret_request = (struct status_request){.path = {.size = 0}};
    if (!next_line(&rest, &line, &bad)) {
        return unfinished(rest, STATUS_REQUEST_MAX_LINE_BYTES, bad);
    }
    if (line.size > STATUS_REQUEST_MAX_LINE_BYTES) {
        return STATUS_PARSE_LARGE;
    }
    enum status_parse result = parse_request_line(line, ret_request);
    for (size_t i = 0; result != STATUS_PARSE_BAD; i++) {
        if (!next_line(&rest, &line, &bad)) {
            return unfinished(bytes, STATUS_REQUEST_MAX_BYTES, bad);
        }
        if (line.size == 0) {
            return result;
        }
        if (i == STATUS_REQUEST_MAX_HEADERS) {
            return STATUS_PARSE_LARGE;
        }
        if (!parse_header(line, ret_request)) {
            return STATUS_PARSE_BAD;
        }
    }
    return result;
}

/* ---- query ----------------------------------------------------------------------------------- */

static bool decode(struct span text, struct buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned c = text.data[i] == '+' ? ' ' : text.data[i];
        if (c == '%') {
            unsigned high = i + 2 < text.size ? hex_digit(text.data[i + 1]) : HEX_NONE;
            unsigned low = i + 2 < text.size ? hex_digit(text.data[i + 2]) : HEX_NONE;
            if ((high | low) >= HEX_NONE) {
                return false;
            }
            c = high << 4 | low;
            i += 2;
        }
        if (c == 0) {
            return false;
        }
        buf_add_byte(out, (uint8_t)c);
    }
    return !out->failed;
}

bool status_request_query(const struct status_request *request, const char *name, struct buf *out)
{
    struct span rest = request->query;
    while (rest.size) {
        struct span pair;
        struct span key;
        if (!split(&rest, '&', &pair)) {
            pair = rest;
            rest = span_from(rest, rest.size);
        }
        if (split(&pair, '=', &key) && span_is(key, name)) {
            return decode(pair, out);
        }
    }
    return false;
}

/* ---- host ------------------------------------------------------------------------------------ */

static bool is_loopback(struct span text)
{
    struct ip_network v4;
    struct ip_address address;
    static const uint8_t v6[16] = {[15] = 1};
    if (!ip_parse(text, &address) || !ip_network_parse(span_text("127.0.0.0/8"), &v4)) {
        return false;
    }
    return (address.size == 16 && memcmp(address.bytes, v6, sizeof(v6)) == 0) ||
           ip_network_holds(&v4, span_make(address.bytes, address.size));
}

bool status_request_is_local(struct span host)
{
    struct span name = host;
    struct span part;
    if (name.size && name.data[0] == '[') {
        name = span_from(name, 1);
        return split(&name, ']', &part) && is_loopback(part) &&
               (name.size == 0 || name.data[0] == ':');
    }
    if (split(&name, ':', &part)) {
        name = part;
    }
    return is_loopback(name) || span_equal_nocase(name, span_text("localhost"));
}
