#include "pipeline/batch/batch_part.h"

#include <stdlib.h>

#include "base/grow.h"

void batch_part_fini(struct batch_part *part)
{
    buf_fini(&part->bytes);
    free(part->ends);
    free(part->routes);
    *part = (struct batch_part){.capacity = 0};
}

static bool reserve(struct batch_part *part, size_t count)
{
    size_t capacity = part->capacity; /* of both arrays */
    return grow_to(&part->ends, count, &capacity, sizeof(*part->ends)) &&
           grow_to(&part->routes, count, &part->capacity, sizeof(*part->routes));
}

bool batch_part_delivery(struct batch_part *part, const struct batch *batch,
    const uint32_t *records, size_t count, size_t route, struct delivery *ret_delivery)
{
    const struct piece *piece = &batch->piece;
    const struct routes *routes = route < piece->route_count ? &piece->routes[route] : NULL;
    part->bytes.max = piece->bytes.size;
    buf_reset(&part->bytes);
    if (!reserve(part, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t start = piece_start(piece, records[i]);
        buf_add(&part->bytes, piece->bytes.data + start, piece->ends[records[i]] - start);
        part->ends[i] = (uint32_t)part->bytes.size;
        part->routes[i] = routes ? routes->indexes[records[i]] : 0;
    }
    if (part->bytes.failed) {
        return false;
    }
    *ret_delivery = (struct delivery){.bytes = buf_span(&part->bytes),
        .record_ends = part->ends,
        .record_count = count,
        .routes = routes ? part->routes : NULL,
        .route_names = routes ? routes->names : NULL,
        .route_count = routes ? routes->name_count : 0,
        .places = records};
    return true;
}
