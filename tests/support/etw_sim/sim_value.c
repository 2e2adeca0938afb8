#include "support/etw_sim/sim_value.h"

#include "base/bytes.h"
#include "event/model/schema_forms.h"

static bool give(
    struct span data, size_t before, size_t size, size_t after, struct sim_value *ret_value)
{
    if (before > data.size || size > data.size - before || after > data.size - before - size) {
        return false;
    }
    ret_value->whole = span_first(data, before + size + after);
    ret_value->bytes = span_make(data.data + before, size);
    return true;
}

static bool take_text(struct span data, size_t unit, struct sim_value *ret_value)
{
    size_t size = 0;
    while (data.size - size >= unit && (data.data[size] || data.data[size + unit - 1])) {
        size += unit;
    }
    bool ended = data.size - size >= unit;
    return give(data, 0, size, ended ? unit : 0, ret_value);
}

static bool take_counted(struct span data, bool reversed, struct sim_value *ret_value)
{
    enum { COUNT_BYTES = 2 };
    if (data.size < COUNT_BYTES) {
        return false;
    }
    size_t size = reversed ? (size_t)data.data[0] << 8 | data.data[1] : load_le16(data.data);
    return give(data, COUNT_BYTES, size, 0, ret_value);
}

static bool take_sid(struct span data, size_t before, struct sim_value *ret_value)
{
    enum { SID_HEAD = 8, SUB_AUTHORITY = 4 };
    if (before + SID_HEAD > data.size) {
        return false;
    }
    return give(
        data, before, SID_HEAD + SUB_AUTHORITY * (size_t)data.data[before + 1], 0, ret_value);
}

/* TOKEN_USER, then the SID; nothing but a zero where there is no user. */
static bool take_wbem_sid(struct span data, uint8_t pointer_size, struct sim_value *ret_value)
{
    enum { NO_USER = 4 };
    if (data.size >= NO_USER && load_le32(data.data) == 0) {
        return give(data, NO_USER, 0, 0, ret_value);
    }
    return take_sid(data, (size_t)pointer_size * 2, ret_value);
}

static bool take_binary(
    const struct sim_value_type *type, struct span data, struct sim_value *ret_value)
{
    enum { IPV6_BYTES = 16 };
    if (type->has_length) {
        return give(data, 0, type->length, 0, ret_value);
    }
    return give(data, 0, type->out_type == OUT_IPV6 ? IPV6_BYTES : 0, 0, ret_value);
}

static bool take_hex_dump(struct span data, struct sim_value *ret_value)
{
    enum { COUNT_BYTES = 4 };
    return data.size >= COUNT_BYTES && give(data, COUNT_BYTES, load_le32(data.data), 0, ret_value);
}

bool sim_value_take(
    const struct sim_value_type *type, struct span data, struct sim_value *ret_value)
{
    size_t fixed = schema_forms_fixed_size(type->in_type);
    if (fixed) {
        return give(data, 0, fixed, 0, ret_value);
    }
    switch (type->in_type) {
    case IN_POINTER:
    case IN_SIZE_T:
        return give(data, 0, type->pointer_size, 0, ret_value);
    case IN_UNICODE_STRING:
        return type->has_length ? give(data, 0, (size_t)type->length * 2, 0, ret_value)
                                : take_text(data, 2, ret_value);
    case IN_ANSI_STRING:
        return type->has_length ? give(data, 0, type->length, 0, ret_value)
                                : take_text(data, 1, ret_value);
    case IN_BINARY:
        return take_binary(type, data, ret_value);
    case IN_SID:
        return take_sid(data, 0, ret_value);
    case IN_WBEM_SID:
        return take_wbem_sid(data, type->pointer_size, ret_value);
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_MANIFEST_COUNTED_BINARY:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
        return take_counted(data, false, ret_value);
    case IN_REVERSED_COUNTED_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
        return take_counted(data, true, ret_value);
    case IN_NON_NUL_TERMINATED_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        return give(data, 0, data.size, 0, ret_value);
    case IN_HEX_DUMP:
        return take_hex_dump(data, ret_value);
    default:
        return false;
    }
}

uint64_t sim_value_number(struct span bytes)
{
    switch (bytes.size) {
    case 1:
        return bytes.data[0];
    case 2:
        return load_le16(bytes.data);
    case 4:
        return load_le32(bytes.data);
    case 8:
        return load_le64(bytes.data);
    default:
        return 0;
    }
}
