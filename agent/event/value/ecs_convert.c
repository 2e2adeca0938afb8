#include "event/value/ecs_convert.h"

#include "base/bytes.h"
#include "base/filetime.h"
#include "base/put.h"
#include "base/text/ip.h"
#include "event/value/ecs_convert_list.h"
#include "event/value/ecs_convert_text.h"
#include "event/value/status_names.h"

void ecs_convert_constant(struct span utf8, struct ecs_sink *sink)
{
    while (sink->is_list && utf8.size) {
        const uint8_t *comma = memchr(utf8.data, ',', utf8.size);
        size_t size = comma ? (size_t)(comma - utf8.data) : utf8.size;
        ecs_sink_text(sink, span_first(utf8, size));
        utf8 = span_from(utf8, size + 1);
    }
    if (!sink->is_list) {
        ecs_sink_text(sink, utf8);
    }
}

/* ---- values in ------------------------------------------------------------------------------- */

static bool is_zero(struct span bytes)
{
    size_t i = 0;
    while (i < bytes.size && bytes.data[i] == 0) {
        i++;
    }
    return i == bytes.size;
}

/* Binary values of the native event are written as hex and are no text here. */
static struct span text_of(struct ecs_operand *operand)
{
    const struct event_value *value = &operand->value;
    bool is_text = value->type != EVENT_VALUE_BYTES &&
                   (value->type != EVENT_VALUE_GUID || !is_zero(value->bytes));
    if (!operand->text.data && is_text) {
        operand->text = event_value_text(operand->context, value);
    }
    return operand->text;
}

static bool number_of(struct ecs_operand *operand, uint64_t *ret_number)
{
    const struct event_value *value = &operand->value;
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
        return ecs_text_number(text_of(operand), ret_number);
    default:
        return false;
    }
}

bool ecs_convert_pid(enum ecs_conversion how, struct ecs_operand *operand, uint32_t *ret_pid)
{
    uint64_t number;
    if (!number_of(operand, &number) || number >= UINT32_MAX ||
        (how == ECS_CONVERT_caller && number == 0)) {
        return false;
    }
    *ret_pid = (uint32_t)number;
    return true;
}

/* 32 bits of a status, also from a signed number. */
static bool status_of(struct ecs_operand *operand, uint32_t *ret_status)
{
    uint64_t number;
    if (!number_of(operand, &number) || (number > UINT32_MAX && number < (uint64_t)INT32_MIN)) {
        return false;
    }
    *ret_status = (uint32_t)number;
    return true;
}

static bool address_of(struct ecs_operand *operand, struct ip_address *ret_address)
{
    struct event_value value = operand->value;
    if (value.type == EVENT_VALUE_OBJECT) {
        value = event_value_socket_member(value.bytes, span_text("address"));
    }
    if (value.type == EVENT_VALUE_ADDRESS) {
        ret_address->size = (uint8_t)value.bytes.size;
        memcpy(ret_address->bytes, value.bytes.data, value.bytes.size);
    } else if (value.type != EVENT_VALUE_TEXT || !ecs_text_address(text_of(operand), ret_address)) {
        return false;
    }
    ecs_text_unmap(ret_address);
    return true;
}

/* ---- single conversions ---------------------------------------------------------------------- */

static bool put_address(struct ecs_sink *sink, const struct ip_address *address)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = address->size == 4 ? put_ipv4(text, address->bytes)
                                      : put_ipv6(text, address->bytes);
    return ecs_sink_text(sink, span_make(text, (size_t)(end - text)));
}

static bool put_long(struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint64_t number;
    const struct event_value *value = &operand->value;
    if (value->type == EVENT_VALUE_INT && value->number < 0) {
        size_t start = ecs_sink_begin(sink);
        buf_add_i64(sink->out, value->number);
        ecs_sink_end(sink, start);
        return true;
    }
    return number_of(operand, &number) && ecs_sink_number(sink, number);
}

static bool put_port(struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint64_t number;
    struct ecs_operand port = *operand;
    if (port.value.type == EVENT_VALUE_OBJECT) {
        port.value = event_value_socket_member(port.value.bytes, span_text("port"));
    }
    return number_of(&port, &number) && number && number <= UINT16_MAX &&
           ecs_sink_number(sink, number);
}

static bool put_time(struct ecs_operand *operand, struct ecs_sink *sink)
{
    /* FILETIME 0 (1601) means no time. */
    const int64_t year = INT64_C(366) * 86400 * (int64_t)FILETIME_PER_S;
    return operand->value.type == EVENT_VALUE_TIME && operand->value.time > year &&
           ecs_sink_text(sink, text_of(operand));
}

static bool put_status(enum ecs_conversion how, struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint32_t status;
    if (!status_of(operand, &status)) {
        return false;
    }
    bool nt = how == ECS_CONVERT_nt_outcome || how == ECS_CONVERT_nt_code;
    bool failed = nt ? status >> 31 : status != 0;
    if (how == ECS_CONVERT_outcome || how == ECS_CONVERT_nt_outcome) {
        return ecs_sink_text(sink, span_text(failed ? "failure" : "success"));
    }
    uint8_t text[PUT_MAX];
    const uint8_t bytes[] = {
        (uint8_t)(status >> 24), (uint8_t)(status >> 16), (uint8_t)(status >> 8), (uint8_t)status};
    uint8_t *end = nt ? put_hex_bytes(put_literal(text, "0x"), span_make(bytes, sizeof(bytes)))
                      : put_u64(text, status);
    return failed && ecs_sink_text(sink, span_make(text, (size_t)(end - text)));
}

static bool put_status_name(struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint32_t status;
    const char *name = status_of(operand, &status) && status ? status_names_ntstatus(status) : NULL;
    return name && ecs_sink_text(sink, span_text(name));
}

/* Keywords of audits (winmeta.xml of the Windows SDK). */
static bool put_audit(struct ecs_operand *operand, struct ecs_sink *sink)
{
    const uint64_t failure = UINT64_C(0x10000000000000);
    const uint64_t success = UINT64_C(0x20000000000000);
    uint64_t keywords;
    if (!number_of(operand, &keywords) || !(keywords & (failure | success))) {
        return false;
    }
    return ecs_sink_text(sink, span_text(keywords & failure ? "failure" : "success"));
}

static bool put_truth(struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint64_t number;
    if (number_of(operand, &number)) {
        return number <= 1 && ecs_sink_truth(sink, number == 1);
    }
    struct span text = text_of(operand);
    bool is_true = span_equal_nocase(text, span_text("true"));
    return (is_true || span_equal_nocase(text, span_text("false"))) &&
           ecs_sink_truth(sink, is_true);
}

static bool put_guid_text(struct ecs_operand *operand, struct ecs_sink *sink)
{
    struct guid guid;
    struct span text = text_of(operand);
    if (text.size && text.data[0] == '{' && text.data[text.size - 1] == '}') {
        text = span_from(span_first(text, text.size - 1), 1);
    }
    if (!guid_parse(text, &guid) || guid_is_zero(&guid)) {
        return false;
    }
    uint8_t braced[PUT_MAX];
    braced[0] = '{';
    uint8_t *end = put_guid(braced + 1, guid.bytes);
    *end++ = '}';
    return ecs_sink_text(sink, span_make(braced, (size_t)(end - braced)));
}

static bool put_args(struct ecs_operand *operand, struct ecs_sink *sink)
{
    struct span text = text_of(operand);
    operand->args = span_is(text, "-") ? 0 : ecs_convert_list_args(text, sink);
    return operand->args > 0;
}

static bool put_args_count(struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint32_t count = operand->args;
    if (!count) {
        struct span text = text_of(operand);
        count = span_is(text, "-") ? 0 : ecs_convert_list_args(text, NULL);
    }
    return count && ecs_sink_number(sink, count);
}

/* ${parameter}: `6=tcp,17=udp`. */
static bool put_word(struct ecs_operand *operand, struct span parameter, struct ecs_sink *sink)
{
    uint64_t number;
    uint64_t key;
    bool is_number = number_of(operand, &number);
    struct span text = is_number ? span_make(NULL, 0) : text_of(operand);
    while (parameter.size) {
        struct span pair = ecs_text_until(&parameter, ',');
        struct span word = pair;
        struct span name = ecs_text_until(&word, '=');
        if (is_number ? ecs_text_number(name, &key) && key == number
                      : span_equal_nocase(name, text)) {
            return ecs_sink_text(sink, word);
        }
    }
    return false;
}

static bool put_dns_type(struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint64_t number;
    char text[ECS_TEXT_DNS_TYPE_SIZE];
    return number_of(operand, &number) && number && number <= UINT16_MAX &&
           ecs_sink_text(sink, span_text(ecs_text_dns_type((uint16_t)number, text)));
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
        return ecs_sink_text(sink, span_text(hive));
    case ECS_CONVERT_registry_key:
        return ecs_sink_text(sink, key);
    case ECS_CONVERT_registry_parent:
        return ecs_sink_text(sink, ecs_text_directory(key));
    default:
        break;
    }
    size_t start = ecs_sink_begin(sink);
    buf_add_byte(sink->out, '"');
    buf_add_text(sink->out, hive);
    if (key.size && buf_reserve(sink->out, utf8_json_bound(key.size) + 2)) {
        buf_add_text(sink->out, "\\\\");
        sink->out->size += utf8_to_json(key, sink->out->data + sink->out->size);
    }
    buf_add_byte(sink->out, '"');
    ecs_sink_end(sink, start);
    return true;
}

/* A registry value as Sysmon shows it. */
static bool put_registry_value(enum ecs_conversion how, struct span text, struct ecs_sink *sink)
{
    const char *type;
    uint64_t number;
    enum ecs_registry_value kind = ecs_text_registry_value(text, &type, &number);
    if (kind == ECS_REGISTRY_NOTHING) {
        return false;
    }
    if (how == ECS_CONVERT_registry_type) {
        return ecs_sink_text(sink, span_text(type));
    }
    if (kind == ECS_REGISTRY_TEXT) {
        return ecs_sink_text(sink, text);
    }
    uint8_t decimal[PUT_MAX];
    return ecs_sink_text(sink, span_make(decimal, (size_t)(put_u64(decimal, number) - decimal)));
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
        return ecs_sink_lower(sink, url.scheme);
    case ECS_CONVERT_url_domain:
        return ecs_sink_lower(sink, url.host);
    case ECS_CONVERT_url_port:
        return ecs_text_number(url.port, &port) && port && port <= UINT16_MAX &&
               ecs_sink_number(sink, port);
    case ECS_CONVERT_url_path:
        return ecs_sink_text(sink, url.path);
    case ECS_CONVERT_url_query:
        return ecs_sink_text(sink, url.query);
    default:
        return ecs_sink_text(sink, text);
    }
}

static bool put_number_kind(
    enum ecs_conversion how, struct ecs_operand *operand, struct ecs_sink *sink)
{
    uint32_t pid;
    struct ip_address address;
    switch (how) {
    case ECS_CONVERT_long:
        return put_long(operand, sink);
    case ECS_CONVERT_pid:
    case ECS_CONVERT_caller:
        return ecs_convert_pid(how, operand, &pid) && ecs_sink_number(sink, pid);
    case ECS_CONVERT_port:
        return put_port(operand, sink);
    case ECS_CONVERT_ip:
        return address_of(operand, &address) && put_address(sink, &address);
    case ECS_CONVERT_ip_type:
        return address_of(operand, &address) &&
               ecs_sink_text(sink, span_text(address.size == 4 ? "ipv4" : "ipv6"));
    case ECS_CONVERT_time:
        return put_time(operand, sink);
    case ECS_CONVERT_dns_type:
        return put_dns_type(operand, sink);
    case ECS_CONVERT_nt_name:
        return put_status_name(operand, sink);
    case ECS_CONVERT_audit_outcome:
        return put_audit(operand, sink);
    case ECS_CONVERT_truth:
        return put_truth(operand, sink);
    case ECS_CONVERT_guid:
        return put_guid_text(operand, sink);
    default:
        return put_status(how, operand, sink);
    }
}

static bool put_text_kind(
    enum ecs_conversion how, struct span parameter, struct span text, struct ecs_sink *sink)
{
    struct span found;
    switch (how) {
    case ECS_CONVERT_lower:
        return ecs_sink_lower(sink, text);
    case ECS_CONVERT_host:
        return ecs_text_host(&text) && ecs_sink_text(sink, text);
    case ECS_CONVERT_sid:
        return ecs_text_is_sid(text) && ecs_sink_text(sink, text);
    case ECS_CONVERT_name:
        return !ecs_text_is_sid(text) && ecs_sink_text(sink, ecs_text_basename(text));
    case ECS_CONVERT_domain:
        return ecs_sink_text(sink, ecs_text_directory(text));
    case ECS_CONVERT_account:
        return ecs_sink_text(sink, ecs_text_until(&text, '@'));
    case ECS_CONVERT_dn_name:
        return ecs_text_dn(text, "", &found) && ecs_sink_text(sink, found);
    case ECS_CONVERT_dn_domain:
        return ecs_text_dn(text, "DC", &found) && ecs_sink_text(sink, found);
    case ECS_CONVERT_is:
        return span_equal_nocase(text, parameter) && ecs_sink_truth(sink, true);
    case ECS_CONVERT_details:
        return ecs_convert_list_details(text, sink);
    case ECS_CONVERT_registry_type:
    case ECS_CONVERT_registry_data:
        return put_registry_value(how, text, sink);
    case ECS_CONVERT_basename:
        return ecs_sink_text(sink, ecs_text_basename(text));
    case ECS_CONVERT_directory:
        return ecs_sink_text(sink, ecs_text_directory(text));
    case ECS_CONVERT_extension:
        return ecs_sink_text(sink, ecs_text_extension(text));
    case ECS_CONVERT_hash:
        return ecs_text_hash(text, parameter, &found) && ecs_sink_lower(sink, found);
    case ECS_CONVERT_pair:
        return ecs_text_pair(text, parameter, &found) && ecs_sink_text(sink, found);
    case ECS_CONVERT_dns_name:
        text.size -= text.size && text.data[text.size - 1] == '.';
        return ecs_sink_text(sink, text);
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
        return ecs_sink_text(sink, text);
    }
}

bool ecs_convert(enum ecs_conversion how, struct span parameter, struct ecs_operand *operand,
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
    case ECS_CONVERT_nt_name:
    case ECS_CONVERT_audit_outcome:
    case ECS_CONVERT_truth:
    case ECS_CONVERT_guid:
        return put_number_kind(how, operand, sink);
    case ECS_CONVERT_args:
        return put_args(operand, sink);
    case ECS_CONVERT_args_count:
        return put_args_count(operand, sink);
    case ECS_CONVERT_words:
        return put_word(operand, parameter, sink);
    case ECS_CONVERT_dns_answers:
        return ecs_convert_list_results(text_of(operand), ECS_LIST_ANSWERS, sink);
    case ECS_CONVERT_dns_ips:
        return ecs_convert_list_results(text_of(operand), ECS_LIST_ADDRESSES, sink);
    case ECS_CONVERT_dns_hosts:
        return ecs_convert_list_results(text_of(operand), ECS_LIST_NAMES, sink);
    default:
        return put_text_kind(how, parameter, text_of(operand), sink);
    }
}
