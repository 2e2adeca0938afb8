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
    return delivery->places ? delivery->places[index] : delivery->first_place + (uint32_t)index;
}

bool delivery_id_is_replayed(const struct delivery *delivery, size_t index)
{
    const struct delivery_place *places = delivery->ids->places;
    return places && places[place_of(delivery, index)].file_id;
}

size_t delivery_id_write(
    const struct delivery *delivery, size_t index, char ret_id[static DELIVERY_ID_MAX])
{
    const struct delivery_ids *ids = delivery->ids;
    uint32_t at = place_of(delivery, index);
    char *p = ret_id;
    if (!delivery_id_is_replayed(delivery, index)) {
        p = put_hex(p, ids->epoch, 16);
        p = put_hex(p, ids->first_number + at, 16);
        return (size_t)(p - ret_id);
    }
    const struct delivery_place *place = &ids->places[at];
    for (size_t i = 0; i < 16; i++) {
        p = put_hex(p, place->file_id[i], 2);
    }
    p = put_hex(p, place->buffer_offset, 12);
    p = put_hex(p, place->record_offset, 8);
    p = put_hex(p, ids->stream_hash, 8);
    return (size_t)(p - ret_id);
}
