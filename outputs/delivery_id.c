#include "outputs/delivery_id.h"

#include "base/put.h"

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
    if (ids->names) {
        struct span name = span_first(ids->names[at], DELIVERY_ID_MAX);
        if (name.size) {
            memcpy(ret_id, name.data, name.size);
        }
        return name.size;
    }
    uint8_t *p = (uint8_t *)ret_id;
    if (delivery_id_is_replayed(delivery, index)) {
        const struct record_position *position = &ids->positions[at];
        p = put_hex_bytes(p, span_make(position->file_id, sizeof(position->file_id)));
        p = put_hex_all(p, position->buffer_offset << 16) - 4; /* offsets have 48 bits */
        p = put_hex_all(p, (uint64_t)position->record_offset << 32 | ids->stream_hash);
    } else {
        p = put_hex_all(p, ids->epoch);
        p = put_hex_all(p, ids->first_number + at);
    }
    return (size_t)(p - (uint8_t *)ret_id);
}

bool delivery_id_always(const void *settings)
{
    (void)settings;
    return true;
}
