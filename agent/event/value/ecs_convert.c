#include "event/value/ecs_convert.h"

#include "base/bytes.h"
#include "base/ip.h"
#include "base/put.h"
#include "event/value/ecs_convert_text.h"

/* ---- values out ----------------------------------------------------------------------------------- */

static bool is_kept(const struct ecs_sink *sink, struct span value)
{
    for (uint32_t i = 0; i < sink->count && i < ECS_SINK_KEPT; i++) {
        if (span_equal(
                value, span_make(sink->out->data + sink->kept[i].start, sink->kept[i].size))) {
            return true;
        }
    }
    return false;
}

/* Where the next value begins. */
static size_t begin_value(struct ecs_sink *sink)
{
    if (sink->is_list && sink->count) {
        buf_add_byte(sink->out, ',');
    }
    return sink->out->size;
}

/* What began at ${start} is complete. */
static void end_value(struct ecs_sink *sink, size_t start)
{
    struct buf *out = sink->out;
    if (!sink->is_list || out->failed) {
        return;
    }
    struct span value = span_make(out->data + start, out->size - start);
    if (is_kept(sink, value)) {
        out->size = start - 1; /* with its comma: it cannot be the first one */
        return;
    }
    if (sink->count < ECS_SINK_KEPT) {
        sink->kept[sink->count].start = start;
        sink->kept[sink->count].size = value.size;
    }
    sink->count++;
}

static void add_string(struct buf *out, struct span utf8)
{
    if (buf_reserve(out, utf8_json_bound(utf8.size) + 2)) {
        out->data[out->size++] = '"';
        out->size += utf8_to_json(utf8, out->data + out->size);
        out->data[out->size++] = '"';
    }
}

static bool put_text(struct ecs_sink *sink, struct span utf8)
{
    if (utf8.size == 0 || span_is(utf8, "-")) {
        return false;
    }
    size_t start = begin_value(sink);
    add_string(sink->out, utf8);
    end_value(sink, start);
    return true;
}

static bool put_number(struct ecs_sink *sink, uint64_t number)
{
    if (number > INT64_MAX) {
        return false;
    }
    size_t start = begin_value(sink);
    if (buf_reserve(sink->out, PUT_MAX)) {
        uint8_t *p = sink->out->data + sink->out->size;
        sink->out->size += (size_t)(put_u64(p, number) - p);
    }
    end_value(sink, start);
    return true;
}

static bool put_lower(struct ecs_sink *sink, struct span utf8)
{
    if (utf8.size == 0 || span_is(utf8, "-")) {
        return false;
    }
    size_t start = begin_value(sink);
    add_string(sink->out, utf8);
    /* Escapes are in lower case already. */
    for (size_t i = start; i < sink->out->size; i++) {
        uint8_t c = sink->out->data[i];
        sink->out->data[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
    }
    end_value(sink, start);
    return true;
}

void ecs_convert_constant(struct span utf8, struct ecs_sink *sink)
{
    while (sink->is_list && utf8.size) {
        const uint8_t *comma = memchr(utf8.data, ',', utf8.size);
        size_t size = comma ? (size_t)(comma - utf8.data) : utf8.size;
        put_text(sink, span_first(utf8, size));
        utf8 = span_from(utf8, size + 1);
    }
    if (!sink->is_list) {
        put_text(sink, utf8);
    }
}

/* ---- values in ------------------------------------------------------------------------------------ */

static bool is_zero(struct span bytes)
{
    size_t i = 0;
    while (i < bytes.size && bytes.data[i] == 0) {
        i++;
    }
    return i == bytes.size;
}

/* What is bytes to the native event is no text, though it has one: hex. */
static struct span text_of(struct ecs_source *source)
{
    const struct event_value *value = &source->value;
    if (value->type == EVENT_VALUE_BYTES ||
        (value->type == EVENT_VALUE_GUID && is_zero(value->bytes))) {
        return span_make(NULL, 0);
    }
    return event_value_text(source->context, value);
}

static bool number_of(struct ecs_source *source, uint64_t *ret_number)
{
    const struct event_value *value = &source->value;
    switch (value->type) {
    case EVENT_VALUE_UINT:
    case EVENT_VALUE_HEX:
        *ret_number = value->unsigned_number;
        return true;
    case EVENT_VALUE_INT:
        *ret_number = (uint64_t)value->number;
        return true;
    case EVENT_VALUE_BOOL:
        *ret_number = value->truth;
        return true;
    case EVENT_VALUE_TEXT:
        return ecs_text_number(text_of(source), ret_number);
    default:
        return false;
    }
}

bool ecs_convert_pid(enum ecs_conversion how, struct ecs_source *source, uint32_t *ret_pid)
{
    uint64_t number;
    if (!number_of(source, &number) || number >= UINT32_MAX ||
        (how == ECS_CONVERT_caller && number == 0)) {
        return false;
    }
    *ret_pid = (uint32_t)number;
    return true;
}

/* 32 bits of a status, also where they were taken for a signed number. */
static bool status_of(struct ecs_source *source, uint32_t *ret_status)
{
    uint64_t number;
    if (!number_of(source, &number) || (number > UINT32_MAX && number < (uint64_t)INT32_MIN)) {
        return false;
    }
    *ret_status = (uint32_t)number;
    return true;
}

static bool address_of(struct ecs_source *source, struct ip_address *ret_address)
{
    struct event_value value = source->value;
    if (value.type == EVENT_VALUE_OBJECT) {
        value = event_value_socket_member(value.bytes, span_text("address"));
    }
    if (value.type == EVENT_VALUE_ADDRESS) {
        ret_address->size = (uint8_t)value.bytes.size;
        memcpy(ret_address->bytes, value.bytes.data, value.bytes.size);
    } else if (value.type != EVENT_VALUE_TEXT || !ecs_text_address(text_of(source), ret_address)) {
        return false;
    }
    ecs_text_unmap(ret_address);
    return true;
}

/* ---- single conversions --------------------------------------------------------------------------- */

static bool put_address(struct ecs_sink *sink, const struct ip_address *address)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = address->size == 4 ? put_ipv4(text, address->bytes)
                                      : put_ipv6(text, address->bytes);
    return put_text(sink, span_make(text, (size_t)(end - text)));
}

static bool put_long(struct ecs_source *source, struct ecs_sink *sink)
{
    uint64_t number;
    const struct event_value *value = &source->value;
    if (value->type == EVENT_VALUE_INT && value->number < 0) {
        size_t start = begin_value(sink);
        buf_add_i64(sink->out, value->number);
        end_value(sink, start);
        return true;
    }
    return number_of(source, &number) && put_number(sink, number);
}

static bool put_port(struct ecs_source *source, struct ecs_sink *sink)
{
    uint64_t number;
    struct event_value *value = &source->value;
    if (value->type == EVENT_VALUE_OBJECT) {
        *value = event_value_socket_member(value->bytes, span_text("port"));
    }
    return number_of(source, &number) && number && number <= UINT16_MAX && put_number(sink, number);
}

static bool put_time(struct ecs_source *source, struct ecs_sink *sink)
{
    /* A year of FILETIME 0 is that of no time. */
    const int64_t year = INT64_C(366) * 86400 * 10000000;
    return source->value.type == EVENT_VALUE_TIME && source->value.time > year &&
           put_text(sink, text_of(source));
}

static bool put_status(enum ecs_conversion how, struct ecs_source *source, struct ecs_sink *sink)
{
    uint32_t status;
    if (!status_of(source, &status)) {
        return false;
    }
    bool nt = how == ECS_CONVERT_nt_outcome || how == ECS_CONVERT_nt_code;
    bool failed = nt ? status >> 31 : status != 0;
    if (how == ECS_CONVERT_outcome || how == ECS_CONVERT_nt_outcome) {
        return put_text(sink, span_text(failed ? "failure" : "success"));
    }
    uint8_t text[PUT_MAX];
    const uint8_t bytes[] = {
        (uint8_t)(status >> 24), (uint8_t)(status >> 16), (uint8_t)(status >> 8), (uint8_t)status};
    uint8_t *end = nt ? put_hex_bytes(put_literal(text, "0x"), span_make(bytes, sizeof(bytes)))
                      : put_u64(text, status);
    return failed && put_text(sink, span_make(text, (size_t)(end - text)));
}

/* ${parameter}: `6=tcp,17=udp`. */
static bool put_word(struct ecs_source *source, struct span parameter, struct ecs_sink *sink)
{
    uint64_t number;
    uint64_t key;
    bool is_number = number_of(source, &number);
    struct span text = is_number ? span_make(NULL, 0) : text_of(source);
    while (parameter.size) {
        struct span pair = ecs_text_until(&parameter, ',');
        struct span word = pair;
        struct span name = ecs_text_until(&word, '=');
        if (is_number ? ecs_text_number(name, &key) && key == number
                      : span_equal_nocase(name, text)) {
            return put_text(sink, word);
        }
    }
    return false;
}

static bool put_dns_type(struct ecs_source *source, struct ecs_sink *sink)
{
    uint64_t number;
    char text[ECS_TEXT_DNS_TYPE_SIZE];
    return number_of(source, &number) && number && number <= UINT16_MAX &&
           put_text(sink, span_text(ecs_text_dns_type((uint16_t)number, text)));
}

static void put_answer(struct ecs_sink *sink, struct span data, const char *type)
{
    size_t start = begin_value(sink);
    buf_add_text(sink->out, "{\"data\":");
    add_string(sink->out, data);
    buf_add_text(sink->out, ",\"type\":\"");
    buf_add_text(sink->out, type);
    buf_add(sink->out, "\"}", 2);
    end_value(sink, start);
}

/* Results of the DNS client: each has a semicolon behind it, those that are no addresses their type
 * in front. */
static bool put_results(struct ecs_source *source, bool only_addresses, struct ecs_sink *sink)
{
    struct span rest = text_of(source);
    bool any = false;
    while (rest.size && !sink->out->failed) {
        struct ip_address address;
        char name[ECS_TEXT_DNS_TYPE_SIZE];
        uint16_t type;
        struct span item = ecs_text_trim(ecs_text_until(&rest, ';'));
        if (ip_parse(item, &address)) {
            ecs_text_unmap(&address);
            uint8_t text[PUT_MAX];
            uint8_t *end = address.size == 4 ? put_ipv4(text, address.bytes)
                                             : put_ipv6(text, address.bytes);
            struct span data = span_make(text, (size_t)(end - text));
            any = true;
            if (only_addresses) {
                put_text(sink, data);
            } else {
                put_answer(sink, data, address.size == 4 ? "A" : "AAAA");
            }
        } else if (!only_addresses && ecs_text_dns_result(&item, &type)) {
            any = true;
            put_answer(sink, item, ecs_text_dns_type(type, name));
        }
    }
    return any;
}

static bool put_registry(enum ecs_conversion how, struct span text, struct ecs_sink *sink)
{
    const char *hive;
    struct span key;
    if (!ecs_text_registry(text, &hive, &key)) {
        return false;
    }
    switch (how) {
    case ECS_CONVERT_registry_hive:
        return put_text(sink, span_text(hive));
    case ECS_CONVERT_registry_key:
        return put_text(sink, key);
    case ECS_CONVERT_registry_parent:
        return put_text(sink, ecs_text_directory(key));
    default:
        break;
    }
    size_t start = begin_value(sink);
    buf_add_byte(sink->out, '"');
    buf_add_text(sink->out, hive);
    if (key.size && buf_reserve(sink->out, utf8_json_bound(key.size) + 2)) {
        buf_add_text(sink->out, "\\\\");
        sink->out->size += utf8_to_json(key, sink->out->data + sink->out->size);
    }
    buf_add_byte(sink->out, '"');
    end_value(sink, start);
    return true;
}

static bool put_url(enum ecs_conversion how, struct span text, struct ecs_sink *sink)
{
    struct ecs_url url;
    uint64_t port;
    if (!ecs_text_url(text, &url)) {
        return false;
    }
    switch (how) {
    case ECS_CONVERT_url_scheme:
        return put_lower(sink, url.scheme);
    case ECS_CONVERT_url_domain:
        return put_lower(sink, url.host);
    case ECS_CONVERT_url_port:
        return ecs_text_number(url.port, &port) && port && port <= UINT16_MAX &&
               put_number(sink, port);
    case ECS_CONVERT_url_path:
        return put_text(sink, url.path);
    case ECS_CONVERT_url_query:
        return put_text(sink, url.query);
    default:
        return put_text(sink, text);
    }
}

static bool put_number_kind(
    enum ecs_conversion how, struct ecs_source *source, struct ecs_sink *sink)
{
    uint32_t pid;
    struct ip_address address;
    switch (how) {
    case ECS_CONVERT_long:
        return put_long(source, sink);
    case ECS_CONVERT_pid:
    case ECS_CONVERT_caller:
        return ecs_convert_pid(how, source, &pid) && put_number(sink, pid);
    case ECS_CONVERT_port:
        return put_port(source, sink);
    case ECS_CONVERT_ip:
        return address_of(source, &address) && put_address(sink, &address);
    case ECS_CONVERT_ip_type:
        return address_of(source, &address) &&
               put_text(sink, span_text(address.size == 4 ? "ipv4" : "ipv6"));
    case ECS_CONVERT_time:
        return put_time(source, sink);
    case ECS_CONVERT_dns_type:
        return put_dns_type(source, sink);
    default:
        return put_status(how, source, sink);
    }
}

static bool put_text_kind(
    enum ecs_conversion how, struct span parameter, struct span text, struct ecs_sink *sink)
{
    struct span found;
    switch (how) {
    case ECS_CONVERT_lower:
        return put_lower(sink, text);
    case ECS_CONVERT_host:
        return ecs_text_host(&text) && put_text(sink, text);
    case ECS_CONVERT_sid:
        return ecs_text_is_sid(text) && put_text(sink, text);
    case ECS_CONVERT_name:
        return !ecs_text_is_sid(text) && put_text(sink, ecs_text_basename(text));
    case ECS_CONVERT_domain:
        return put_text(sink, ecs_text_directory(text));
    case ECS_CONVERT_basename:
        return put_text(sink, ecs_text_basename(text));
    case ECS_CONVERT_directory:
        return put_text(sink, ecs_text_directory(text));
    case ECS_CONVERT_extension:
        return put_text(sink, ecs_text_extension(text));
    case ECS_CONVERT_hash:
        return ecs_text_hash(text, parameter, &found) && put_lower(sink, found);
    case ECS_CONVERT_pair:
        return ecs_text_pair(text, parameter, &found) && put_text(sink, found);
    case ECS_CONVERT_dns_name:
        text.size -= text.size && text.data[text.size - 1] == '.';
        return put_text(sink, text);
    case ECS_CONVERT_registry_path:
    case ECS_CONVERT_registry_hive:
    case ECS_CONVERT_registry_key:
    case ECS_CONVERT_registry_parent:
        return put_registry(how, text, sink);
    case ECS_CONVERT_url:
    case ECS_CONVERT_url_scheme:
    case ECS_CONVERT_url_domain:
    case ECS_CONVERT_url_port:
    case ECS_CONVERT_url_path:
    case ECS_CONVERT_url_query:
        return put_url(how, text, sink);
    default:
        return put_text(sink, text);
    }
}

bool ecs_convert(enum ecs_conversion how, struct span parameter, struct ecs_source *source,
    struct ecs_sink *sink)
{
    switch (how) {
    case ECS_CONVERT_long:
    case ECS_CONVERT_pid:
    case ECS_CONVERT_caller:
    case ECS_CONVERT_port:
    case ECS_CONVERT_ip:
    case ECS_CONVERT_ip_type:
    case ECS_CONVERT_time:
    case ECS_CONVERT_dns_type:
    case ECS_CONVERT_outcome:
    case ECS_CONVERT_nt_outcome:
    case ECS_CONVERT_code:
    case ECS_CONVERT_nt_code:
        return put_number_kind(how, source, sink);
    case ECS_CONVERT_words:
        return put_word(source, parameter, sink);
    case ECS_CONVERT_dns_answers:
    case ECS_CONVERT_dns_ips:
        return put_results(source, how == ECS_CONVERT_dns_ips, sink);
    default:
        return put_text_kind(how, parameter, text_of(source), sink);
    }
}
