#include "base/bytes.h"
#include "event/model/schema_forms.h"
#include "event/value/event_value.h"
#include "event/value/value_put.h"
#include "schema/events/event_info.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_tdh_own.h"
#include "support/etw_sim/sim_value.h"

/*
 * TdhFormatProperty (tdh.h): one value as text. What Windows says in its own language or of its own
 * machine is not known here: codes stay numbers, and the other texts are those of the agent, with
 * braces around GUIDs and large digits in hex.
 */
enum { ERROR_EVT_INVALID_EVENT_DATA = 15005, MAP_HEAD_BYTES = 16, MAP_ENTRY_BYTES = 8 };

/* ---- maps ------------------------------------------------------------------------------------ */

static size_t text_end(const uint8_t *info, uint32_t offset)
{
    size_t end = offset;
    while (load_le16(info + end)) {
        end += sizeof(uint16_t);
    }
    return end + sizeof(uint16_t);
}

/* The bytes of an EVENT_MAP_INFO: up to the end of the last text. */
static struct span map_span(const uint8_t *info)
{
    uint32_t count = load_le32(info + 8);
    size_t size = MAP_HEAD_BYTES + (size_t)count * MAP_ENTRY_BYTES;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t offset = load_le32(i ? info + MAP_HEAD_BYTES + (i - 1) * MAP_ENTRY_BYTES : info);
        size_t end = offset ? text_end(info, offset) : 0;
        size = end > size ? end : size;
    }
    return span_make(info, size);
}

static void add_bits(const struct schema_map *map, uint64_t value, struct buf *out)
{
    uint64_t rest = value;
    for (size_t i = 0; i < map->entry_count; i++) {
        uint64_t mask = map->entries[i].value;
        if (mask && (value & mask) == mask) {
            buf_add_text(out, out->size ? " | " : "");
            buf_add_span(out, map->entries[i].text);
            rest &= ~mask;
        }
    }
    if (rest && out->size) {
        buf_printf(out, " | 0x%llX", (unsigned long long)rest);
    }
}

/* The name of ${value}; ${out} stays empty where the map has none. */
static void add_name(const void *map_info, uint64_t value, struct buf *out)
{
    struct arena arena;
    arena_init(&arena, SIM_TDH_MAX_ANSWER);
    struct span name;
    const struct schema_map *map;
    if (event_info_map(map_span(map_info), &arena, &name, &map, NULL)) {
        if (map->kind == MAP_BITS) {
            add_bits(map, value, out);
        } else {
            buf_add_span(out, schema_map_find(map, value));
        }
    }
    arena_fini(&arena);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The digits of numbers and bytes in hex are large on Windows, as in what tracerpt shows. */
static void enlarge_hex(const struct schema_field *field, uint8_t *text, size_t size)
{
    bool is_bytes = (field->in_type == IN_BINARY || field->in_type == IN_HEX_DUMP ||
                        field->in_type == IN_MANIFEST_COUNTED_BINARY) &&
                    (field->out_type == OUT_NULL || field->out_type == OUT_HEX_BINARY);
    bool is_number = size > 2 && text[0] == '0' && text[1] == 'x';
    if (!is_bytes && !is_number) {
        return;
    }
    for (size_t i = is_number ? 2 : 0; i < size; i++) {
        text[i] = text[i] >= 'a' && text[i] <= 'f' ? (uint8_t)(text[i] - 0x20) : text[i];
    }
}

static bool is_text(uint16_t in_type)
{
    return in_type == IN_UNICODE_STRING || in_type == IN_ANSI_STRING ||
           (in_type >= IN_MANIFEST_COUNTED_STRING && in_type <= IN_MANIFEST_COUNTED_ANSI_STRING) ||
           (in_type >= IN_COUNTED_STRING && in_type <= IN_NON_NUL_TERMINATED_ANSI_STRING);
}

static void add_value(const struct schema_field *field, struct span bytes, struct buf *out)
{
    size_t start = out->size;
    struct event_value_context context;
    if (!event_value_context_init(&context, NULL, NULL)) {
        out->failed = true;
        return;
    }
    struct event_value value = event_value_of(&context, field, bytes);
    if (field->form == FORM_SOCKET_ADDRESS) {
        const struct value_context values = {.ansi = context.ansi};
        if (buf_reserve(out, value_put_room(bytes.size))) {
            out->size = (size_t)(value_put_text(&values, out->data, field, bytes) - out->data);
        }
    } else {
        const char *braces = field->form == FORM_GUID ? "{}" : "\0";
        buf_add(out, braces, braces[0] ? 1 : 0);
        buf_add_span(out, event_value_text(&context, &value));
        buf_add(out, braces + 1, braces[0] ? 1 : 0);
    }
    if (!is_text(field->in_type) && !out->failed) {
        enlarge_hex(field, out->data + start, out->size - start);
    }
    event_value_context_fini(&context);
}

/* False if the value is none of the map's: callers ask again without it. */
static bool format_value(const struct sim_value_type *type, const void *map_info,
    const struct sim_value *value, struct buf *out)
{
    struct schema_field field = {.in_type = type->in_type,
        .out_type = type->out_type,
        .count = 1,
        .length = type->length,
        .form = (uint8_t)schema_forms_of(type->in_type, type->out_type),
        .fixed_size = schema_forms_fixed_size(type->in_type),
        .pointer_sized = type->in_type == IN_POINTER || type->in_type == IN_SIZE_T,
        .may_hold_nul = true};
    if (map_info) {
        add_name(map_info, sim_value_number(value->bytes), out);
        return out->size != 0;
    }
    if (value->bytes.size) {
        add_value(&field, value->bytes, out);
    }
    return true;
}

uint32_t etw_sim_TdhFormatProperty(void *info, void *map_info, uint32_t pointer_size,
    uint16_t in_type, uint16_t out_type, uint16_t length, uint16_t data_bytes, uint8_t *data,
    uint32_t *text_bytes, etw_char *ret_text, uint16_t *ret_consumed)
{
    if (!info || !text_bytes || (pointer_size != 4 && pointer_size != 8)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    const struct sim_value_type type = {.in_type = in_type,
        .out_type = out_type,
        .length = length,
        .has_length = length != 0,
        .pointer_size = (uint8_t)pointer_size};
    struct sim_value value;
    if (!sim_value_take(&type, span_make(data, data ? data_bytes : 0), &value)) {
        return ERROR_EVT_INVALID_EVENT_DATA;
    }
    struct buf text;
    struct buf made;
    buf_init(&text, SIM_TDH_MAX_ANSWER);
    buf_init(&made, SIM_TDH_MAX_ANSWER);
    uint32_t code = ERROR_EVT_INVALID_EVENT_DATA;
    if (format_value(&type, map_info, &value, &text)) {
        etl_put_utf16_span(&made, buf_span(&text));
        etl_put_u16(&made, 0);
        made.failed |= text.failed;
        code = sim_tdh_give(&made, ret_text, text_bytes);
    }
    if (code == ETW_SUCCESS && ret_consumed) {
        *ret_consumed = (uint16_t)value.whole.size;
    }
    buf_fini(&made);
    buf_fini(&text);
    return code;
}
