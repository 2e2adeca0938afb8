#include "base/reader.h"
#include "etw/etw_types.h"
#include "support/etw_sim/etw_sim_payload.h"

/* Step over one field; ${ret_bytes} is what it takes. */
static bool take_field(struct reader *r, uint8_t field, struct span *ret_bytes)
{
    if (field != ETW_SIM_FIELD_TEXT16 && field != ETW_SIM_FIELD_TEXT8) {
        *ret_bytes = reader_take(r, field & 0x3f);
        return !r->failed;
    }
    struct span rest = reader_rest(r);
    size_t size = 0;
    size_t unit = field == ETW_SIM_FIELD_TEXT16 ? 2 : 1;
    while (size + unit <= rest.size && (rest.data[size] || (unit == 2 && rest.data[size + 1]))) {
        size += unit;
    }
    *ret_bytes = span_first(rest, size);
    reader_skip(r, size + unit <= rest.size ? size + unit : rest.size);
    return true;
}

static uint64_t number(uint8_t field, struct span bytes)
{
    uint64_t value = load_le(bytes.data, bytes.size);
    unsigned bits = (unsigned)bytes.size * 8;
    if (field & ETW_SIM_FIELD_SIGNED && bits < 64 && value >> (bits - 1)) {
        value |= UINT64_MAX << bits;
    }
    return value;
}

static bool less(bool is_signed, uint64_t a, uint64_t b)
{
    return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static bool number_holds(const struct etw_sim_payload_predicate *p, uint64_t v)
{
    bool is_signed = (p->field & ETW_SIM_FIELD_SIGNED) != 0;
    uint64_t a = p->value[0];
    uint64_t b = p->value[1];
    bool between = !less(is_signed, v, a) && !less(is_signed, b, v);
    switch (p->compare_op) {
    case ETW_PAYLOAD_EQ:
    case ETW_PAYLOAD_IS:
        return v == a;
    case ETW_PAYLOAD_NE:
    case ETW_PAYLOAD_IS_NOT:
        return v != a;
    case ETW_PAYLOAD_LE:
        return !less(is_signed, a, v);
    case ETW_PAYLOAD_GT:
        return less(is_signed, a, v);
    case ETW_PAYLOAD_LT:
        return less(is_signed, v, a);
    case ETW_PAYLOAD_GE:
        return !less(is_signed, v, a);
    case ETW_PAYLOAD_BETWEEN:
        return between;
    case ETW_PAYLOAD_NOT_BETWEEN:
        return !between;
    case ETW_PAYLOAD_MODULO:
        return a && v % a == b;
    default:
        return false;
    }
}

static bool text_holds(const struct etw_sim_payload_predicate *p, struct span bytes)
{
    uint8_t wanted[2 * ETW_SIM_PAYLOAD_TEXT];
    size_t unit = p->field == ETW_SIM_FIELD_TEXT16 ? 2 : 1;
    size_t size = p->text_chars * unit;
    for (size_t i = 0; i < p->text_chars; i++) {
        wanted[i * unit] = (uint8_t)p->text[i];
        if (unit == 2) {
            wanted[i * 2 + 1] = (uint8_t)(p->text[i] >> 8);
        }
    }
    bool contains = false;
    for (size_t at = 0; at + size <= bytes.size && !contains; at += unit) {
        contains = memcmp(bytes.data + at, wanted, size) == 0;
    }
    bool is = contains && bytes.size == size;
    switch (p->compare_op) {
    case ETW_PAYLOAD_CONTAINS:
        return contains;
    case ETW_PAYLOAD_DOES_NOT_CONTAIN:
        return !contains;
    case ETW_PAYLOAD_IS:
        return is;
    case ETW_PAYLOAD_IS_NOT:
        return !is;
    default:
        return false;
    }
}

static bool predicate_holds(const struct etw_sim_payload_predicate *p, struct span payload)
{
    struct reader r = reader_make(payload);
    struct span bytes;
    for (uint8_t i = 0; i < p->before_count; i++) {
        if (!take_field(&r, p->before[i], &bytes)) {
            return false;
        }
    }
    if (reader_left(&r) == 0 || !take_field(&r, p->field, &bytes)) {
        return false;
    }
    if (p->field == ETW_SIM_FIELD_TEXT16 || p->field == ETW_SIM_FIELD_TEXT8) {
        return text_holds(p, bytes);
    }
    size_t size = bytes.size;
    bool is_number = size == 1 || size == 2 || size == 4 || size == 8;
    return is_number && number_holds(p, number(p->field, bytes));
}

static bool filter_holds(
    const struct etw_sim_payload_filter *filter, const uint8_t *predicates, struct span payload)
{
    bool any = false;
    bool all = true;
    for (uint8_t i = 0; i < filter->predicates; i++) {
        struct etw_sim_payload_predicate p;
        memcpy(&p, predicates + i * sizeof(p), sizeof(p));
        bool holds = predicate_holds(&p, payload);
        any = any || holds;
        all = all && holds;
    }
    return filter->match_any ? any : all;
}

bool etw_sim_payload_pass(
    struct span blob, const struct event_descriptor *descriptor, struct span payload)
{
    struct etw_sim_payload_blob head;
    if (!etw_sim_payload_valid(blob)) {
        return false;
    }
    memcpy(&head, blob.data, sizeof(head));
    bool all = true;
    bool any = false;
    bool has_any = false;
    size_t at = sizeof(head);
    for (uint16_t i = 0; i < head.filters; i++) {
        struct etw_sim_payload_filter f;
        memcpy(&f, blob.data + at, sizeof(f));
        at += sizeof(f);
        if (f.event_id == descriptor->id && f.event_version == descriptor->version) {
            bool holds = filter_holds(&f, blob.data + at, payload);
            has_any = has_any || !f.match_all;
            any = any || (!f.match_all && holds);
            all = all && (!f.match_all || holds);
        }
        at += f.predicates * sizeof(struct etw_sim_payload_predicate);
    }
    return all && (any || !has_any);
}

bool etw_sim_payload_valid(struct span blob)
{
    struct etw_sim_payload_blob head;
    if (blob.size < sizeof(head)) {
        return false;
    }
    memcpy(&head, blob.data, sizeof(head));
    size_t at = sizeof(head);
    for (uint16_t i = 0; i < head.filters && head.magic == ETW_SIM_PAYLOAD_MAGIC; i++) {
        struct etw_sim_payload_filter f;
        if (sizeof(f) > blob.size - at) {
            return false;
        }
        memcpy(&f, blob.data + at, sizeof(f));
        at += sizeof(f);
        for (uint8_t k = 0; k < f.predicates; k++) {
            struct etw_sim_payload_predicate p;
            if (sizeof(p) > blob.size - at) {
                return false;
            }
            memcpy(&p, blob.data + at, sizeof(p));
            at += sizeof(p);
            if (p.before_count > ETW_SIM_PAYLOAD_FIELDS || p.text_chars > ETW_SIM_PAYLOAD_TEXT) {
                return false;
            }
        }
    }
    return head.magic == ETW_SIM_PAYLOAD_MAGIC && at == blob.size;
}
