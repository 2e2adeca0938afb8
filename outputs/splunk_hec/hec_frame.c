#include "outputs/splunk_hec/hec_frame.h"

#include "outputs/delivery_id.h"
#include "outputs/http/http_frame.h"

enum {
    CONSTANTS_MAX_BYTES = 64 * 1024,
    MEMBERS_MAX_BYTES = 64 * 1024,
    PATH_MAX_BYTES = 32 * 1024,
    BODY_MAX_BYTES = 512 * 1024 * 1024,
};

static const char event_path[] = "/services/collector/event";
static const char raw_path[] = "/services/collector/raw";

bool hec_frame_init(struct hec_frame *frame, const struct hec_settings *settings)
{
    *frame = (struct hec_frame){.raw = settings->endpoint == HEC_RAW,
        .ids = settings->ids && settings->endpoint == HEC_EVENT,
        .has_host = settings->places[HEC_HOST] != NULL};
    event_memo_init(&frame->memo);
    buf_init(&frame->constants, CONSTANTS_MAX_BYTES);
    buf_init(&frame->members, MEMBERS_MAX_BYTES);
    buf_init(&frame->path, PATH_MAX_BYTES);
    buf_init(&frame->body, BODY_MAX_BYTES);
    for (int i = 0; i < HEC_PLACE_COUNT; i++) {
        buf_add_span(&frame->constants, span_text(settings->places[i]));
    }
    size_t at = 0;
    for (int i = 0; i < HEC_PLACE_COUNT && !frame->constants.failed; i++) {
        size_t size = span_text(settings->places[i]).size;
        frame->places[i] = span_first(span_from(buf_span(&frame->constants), at), size);
        at += size;
    }
    return !frame->constants.failed;
}

void hec_frame_fini(struct hec_frame *frame)
{
    event_memo_fini(&frame->memo);
    buf_fini(&frame->constants);
    buf_fini(&frame->members);
    buf_fini(&frame->path);
    buf_fini(&frame->body);
}

/* The routing values of record ${index}. */
static void places_of(const struct hec_frame *frame, const struct delivery *delivery, size_t index,
    struct span ret_places[HEC_PLACE_COUNT], char index_room[EVENT_TEMPLATE_MAX_NAME + 1])
{
    if (!delivery->routes || !hec_settings_split(delivery->route_names[delivery->routes[index]],
                                 ret_places, index_room)) {
        memcpy(ret_places, frame->places, sizeof(frame->places));
    }
}

/* ---- events as objects ----------------------------------------------------------------------- */

static void write_members(struct hec_frame *frame, const struct delivery *delivery, size_t index)
{
    struct span places[HEC_PLACE_COUNT];
    char room[EVENT_TEMPLATE_MAX_NAME + 1];
    places_of(frame, delivery, index, places, room);
    buf_reset(&frame->members);
    for (int i = 0; i < HEC_PLACE_COUNT; i++) {
        http_frame_add_member(&frame->members, hec_place_names[i], places[i]);
    }
}

static void add_id(struct hec_frame *frame, const struct delivery *delivery, size_t index)
{
    char id[DELIVERY_ID_MAX];
    size_t size = delivery_id_write(delivery, index, id);
    buf_add_text(&frame->members, "\"fields\":{\"etwship_id\":\"");
    buf_add(&frame->members, id, size);
    buf_add_text(&frame->members, "\"},");
}

/* Adjacent records mostly have equal routes. */
static void write_events(struct hec_frame *frame, const struct http_piece *piece)
{
    const struct delivery *delivery = piece->delivery;
    bool written = false;
    size_t mark = 0;
    uint32_t route = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (!http_piece_holds(piece, i)) {
            continue;
        }
        if (!written || (delivery->routes && delivery->routes[i] != route)) {
            write_members(frame, delivery, i);
            route = delivery->routes ? delivery->routes[i] : 0;
            mark = frame->members.size;
            written = true;
        }
        frame->members.size = mark;
        if (frame->ids && delivery->ids) {
            add_id(frame, delivery, i);
        }
        http_frame_add_hec(&frame->memo, http_frame_record(delivery, i), buf_span(&frame->members),
            !frame->has_host, &frame->body);
    }
}

/* ---- raw events ------------------------------------------------------------------------------ */

/* RFC 3986, 2.3. */
static void add_escaped(struct buf *out, struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        if (plain) {
            buf_add_byte(out, c);
        } else {
            buf_printf(out, "%%%02X", (unsigned)c);
        }
    }
}

static void write_query(struct hec_frame *frame, const struct http_piece *piece)
{
    struct span places[HEC_PLACE_COUNT];
    char room[EVENT_TEMPLATE_MAX_NAME + 1];
    char before = '?';
    places_of(frame, piece->delivery, piece->first, places, room);
    for (int i = 0; i < HEC_PLACE_COUNT; i++) {
        if (places[i].size) {
            buf_printf(&frame->path, "%c%s=", before, hec_place_names[i]);
            add_escaped(&frame->path, places[i]);
            before = '&';
        }
    }
}

static void write_lines(struct hec_frame *frame, const struct http_piece *piece)
{
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (http_piece_holds(piece, i)) {
            buf_add_span(&frame->body, http_frame_record(piece->delivery, i));
            buf_add_byte(&frame->body, '\n');
        }
    }
}

bool hec_frame_write(struct hec_frame *frame, const struct http_piece *piece)
{
    buf_reset(&frame->body);
    buf_reset(&frame->path);
    buf_reset(&frame->members);
    buf_add_text(&frame->path, frame->raw ? raw_path : event_path);
    if (frame->raw) {
        write_query(frame, piece);
        write_lines(frame, piece);
    } else {
        write_events(frame, piece);
    }
    buf_add_byte(&frame->path, '\0');
    return !frame->body.failed && !frame->path.failed && !frame->members.failed;
}
