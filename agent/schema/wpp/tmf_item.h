#ifndef ETWSHIP_SCHEMA_TMF_ITEM_H
#define ETWSHIP_SCHEMA_TMF_ITEM_H

#include "event/model/schema.h"
#include "event/value/wpp_format.h"

/* Item types of trace message formats: size, type and display of an argument. The rows are in
 * tmf_items.def. */
struct tmf_item {
    const char *name;
    uint16_t in_type;
    uint16_t out_type;
    uint16_t length; /* bytes of a binary; 0: given by the type */
    uint8_t style;   /* enum wpp_style */
};

/* Find an item by ${name}, ignoring case; NULL if its layout is unknown. */
const struct tmf_item *tmf_item_find(struct span name);

#endif
