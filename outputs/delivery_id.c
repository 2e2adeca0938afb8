#include "outputs/delivery_id.h"

static char *put_hex(char *p, uint64_t value, unsigned digits)
{
    while (digits--) {
        *p++ = "0123456789abcdef"[(value >> (4 * digits)) & 15];
    }
    return p;
}

static uint32_t place_of(const struct delivery *delivery, size_t index)
{
    return delivery->first_place + (delivery->places ? delivery->places[index] : (uint32_t)index);
}

bool delivery_id_is_replayed(const struct delivery *delivery, size_t index)
{
    const struct record_position *positions = delivery->ids->positions;
    return positions && record_position_is_known(&positions[place_of(delivery, index)]);
}

size_t delivery_id_write(
    const struct delivery *delivery, size_t index, char ret_id[DELIVERY_ID_MAX])
{
    const struct delivery_ids *ids = delivery->ids;
    uint32_t at = place_of(delivery, index);
    char *p = ret_id;
    if (ids->names) {
        struct span name = span_first(ids->names[at], DELIVERY_ID_MAX);
        if (name.size) {
            memcpy(ret_id, name.data, name.size);
        }
        return name.size;
    }
    if (!delivery_id_is_replayed(delivery, index)) {
        p = put_hex(p, ids->epoch, 16);
        p = put_hex(p, ids->first_number + at, 16);
        return (size_t)(p - ret_id);
    }
    const struct record_position *position = &ids->positions[at];
    for (size_t i = 0; i < sizeof(position->file_id); i++) {
        p = put_hex(p, position->file_id[i], 2);
    }
    p = put_hex(p, position->buffer_offset, 12);
    p = put_hex(p, position->record_offset, 8);
    p = put_hex(p, ids->stream_hash, 8);
    return (size_t)(p - ret_id);
}
