#ifndef ETWSHIP_EVENT_WPP_ITEM_TEXT_H
#define ETWSHIP_EVENT_WPP_ITEM_TEXT_H

#include "base/buf.h"
#include "event/model/event.h"
#include "event/value/value_json.h"
#include "event/value/wpp_format.h"

/*
 * Append the text of ${field} for the specification `s` to ${out}, JSON-escaped, and return its
 * end. ${p} is the end of ${out}, which has room for value_put_room(field->size) bytes and
 * WPP_MAX_WIDTH after it. Names from files may grow ${out}, so it may move.
 */
uint8_t *wpp_item_text_put(const struct value_context *values, const struct field *field,
    enum wpp_style style, struct buf *out, uint8_t *p);

#endif
