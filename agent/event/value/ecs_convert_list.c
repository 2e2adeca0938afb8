#include "event/value/ecs_convert_list.h"

#include "base/put.h"
#include "base/text/ip.h"
#include "base/utf.h"
#include "event/value/ecs_convert_text.h"

/* ---- DNS ------------------------------------------------------------------------------------- */

static void put_answer(struct ecs_sink *sink, struct span data, const char *type)
{
    size_t start = ecs_sink_begin(sink);
    buf_add_text(sink->out, "{\"data\":");
    ecs_sink_string(sink->out, data);
    buf_add_text(sink->out, ",\"type\":\"");
    buf_add_text(sink->out, type);
    buf_add(sink->out, "\"}", 2);
    ecs_sink_end(sink, start);
}

static bool put_address(
    struct ip_address *address, enum ecs_list_results which, struct ecs_sink *sink)
{
    uint8_t text[PUT_MAX];
    ecs_text_unmap(address);
    bool is_v4 = address->size == 4;
    uint8_t *end = is_v4 ? put_ipv4(text, address->bytes) : put_ipv6(text, address->bytes);
    struct span data = span_make(text, (size_t)(end - text));
    if (which == ECS_LIST_ADDRESSES) {
        ecs_sink_text(sink, data);
    } else if (which == ECS_LIST_ANSWERS) {
        put_answer(sink, data, is_v4 ? "A" : "AAAA");
    }
    return which != ECS_LIST_NAMES;
}

static bool put_name(struct span item, enum ecs_list_results which, struct ecs_sink *sink)
{
    char name[ECS_TEXT_DNS_TYPE_SIZE];
    uint16_t type;
    if (which == ECS_LIST_ADDRESSES || !ecs_text_dns_result(&item, &type)) {
        return false;
    }
    if (which == ECS_LIST_NAMES) {
        return ecs_sink_text(sink, item);
    }
    put_answer(sink, item, ecs_text_dns_type(type, name));
    return true;
}

bool ecs_convert_list_results(struct span text, enum ecs_list_results which, struct ecs_sink *sink)
{
    bool any = false;
    while (text.size && !sink->out->failed) {
        struct ip_address address;
        struct span item = ecs_text_trim(ecs_text_until(&text, ';'));
        any |= ip_parse(item, &address) ? put_address(&address, which, sink)
                                        : put_name(item, which, sink);
    }
    return any;
}

/* ---- command lines --------------------------------------------------------------------------- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* Pass the characters at ${at} that are simply a part of an argument, as most are. False: the
 * argument ends there. */
static bool pass_plain(struct span text, size_t *at, bool is_quoted)
{
    static const bool is_special[256] = {[' '] = true, ['\t'] = true, ['"'] = true, ['\\'] = true};
    while (*at < text.size && !is_special[text.data[*at]]) {
        ++*at;
    }
    return *at < text.size && (is_quoted || !is_space(text.data[*at]));
}

/* Append ${piece} of an argument to ${out} as JSON text.
 * ${out} NULL: arguments are only counted. */
static void add_piece(struct buf *out, struct span piece)
{
    if (out && piece.size) {
        buf_add_json(out, piece);
    }
}

/* The program's own name: no backslash is special in it. */
static void take_program(struct span *rest, struct buf *out)
{
    bool is_quoted = false;
    size_t from = 0;
    size_t at = 0;
    for (; pass_plain(*rest, &at, is_quoted); at++) {
        if (rest->data[at] == '"') {
            add_piece(out, span_make(rest->data + from, at - from));
            is_quoted = !is_quoted;
            from = at + 1;
        }
    }
    add_piece(out, span_make(rest->data + from, at - from));
    *rest = span_from(*rest, at);
}

/* Another argument. 2n backslashes before a quote are n of them, and one more makes the quote a
 * plain one; two quotes within quotes are a plain one, too. */
static void take_argument(struct span *rest, struct buf *out)
{
    bool is_quoted = false;
    size_t from = 0;
    size_t at = 0;
    while (pass_plain(*rest, &at, is_quoted)) {
        size_t slashes = 0;
        while (at + slashes < rest->size && rest->data[at + slashes] == '\\') {
            slashes++;
        }
        size_t quote = at + slashes;
        if (quote == rest->size || rest->data[quote] != '"') {
            at = slashes ? quote : at + 1;
            continue;
        }
        add_piece(out, span_make(rest->data + from, at - from + slashes / 2));
        bool is_doubled = is_quoted && quote + 1 < rest->size && rest->data[quote + 1] == '"';
        bool is_plain = slashes % 2 || is_doubled;
        from = is_plain ? quote + (slashes % 2 ? 0 : 1) : quote + 1;
        at = slashes % 2 ? quote + 1 : quote + 1 + is_doubled;
        is_quoted ^= !is_plain;
    }
    add_piece(out, span_make(rest->data + from, at - from));
    *rest = span_from(*rest, at);
}

uint32_t ecs_convert_list_args(struct span text, struct ecs_sink *sink)
{
    uint32_t count = 0;
    text = ecs_text_trim(text);
    while (text.size && !(sink && sink->out->failed)) {
        struct buf *out = sink ? sink->out : NULL;
        if (sink) {
            ecs_sink_begin(sink);
            buf_add_byte(out, '"');
        }
        if (count++ == 0) {
            take_program(&text, out);
        } else {
            take_argument(&text, out);
        }
        if (sink) {
            buf_add_byte(out, '"');
            ecs_sink_end_any(sink);
        }
        while (text.size && is_space(text.data[0])) {
            text = span_from(text, 1);
        }
    }
    return count;
}

/* ---- PowerShell ------------------------------------------------------------------------------ */

static void add_member(struct buf *out, const char *key, struct span value)
{
    if (value.size) {
        buf_add_text(out, key);
        ecs_sink_string(out, value);
    }
}

static bool begins(struct span text, const char *start)
{
    return span_equal(span_first(text, strlen(start)), span_text(start));
}

/* Offset of ${mark} in ${text}; the size of ${text}: not found. */
static size_t find(struct span text, const char *mark)
{
    size_t at = 0;
    while (at < text.size && !begins(span_from(text, at), mark)) {
        at++;
    }
    return at;
}

/* `name=…; value=…` */
static bool split_binding(struct span *value, struct span *ret_name)
{
    static const char name[] = "name=";
    static const char middle[] = "; value=";
    size_t at = find(*value, middle);
    if (!begins(*value, name) || at == value->size) {
        return false;
    }
    *ret_name = span_from(span_first(*value, at), sizeof(name) - 1);
    *value = span_from(*value, at + sizeof(middle) - 1);
    return true;
}

static void put_detail(struct span line, struct ecs_sink *sink)
{
    struct span type = span_make(NULL, 0);
    struct span command = type;
    struct span name = type;
    struct span value = line;
    size_t open = find(line, "(");
    size_t close = find(line, "):");
    if (open && open + 1 < close && close < line.size) {
        type = span_first(line, open);
        command = span_from(span_first(line, close), open + 1);
        value = ecs_text_trim(span_from(line, close + 2));
        if (span_is(type, "ParameterBinding")) {
            split_binding(&value, &name);
        }
    }
    size_t start = ecs_sink_begin(sink);
    struct buf *out = sink->out;
    buf_add_byte(out, '{');
    size_t first = out->size;
    add_member(out, ",\"type\":", type);
    add_member(out, ",\"related_command\":", command);
    add_member(out, ",\"name\":", name);
    add_member(out, ",\"value\":", value);
    if (!out->failed) {
        /* Each member begins with a comma, which the first must not have. */
        memmove(out->data + first, out->data + first + 1, out->size - first - 1);
        out->data[out->size - 1] = '}';
    }
    ecs_sink_end(sink, start);
}

bool ecs_convert_list_details(struct span text, struct ecs_sink *sink)
{
    bool any = false;
    while (text.size && !sink->out->failed) {
        struct span line = ecs_text_trim(ecs_text_until(&text, '\n'));
        if (line.size) {
            put_detail(line, sink);
            any = true;
        }
    }
    return any;
}
