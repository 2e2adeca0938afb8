#ifndef ETWSHIP_SCHEMA_TMF_ITEM_H
#define ETWSHIP_SCHEMA_TMF_ITEM_H

#include "event/schema.h"
#include "event/wpp_format.h"

/* The item types of trace message formats: what bytes an argument has, and how it is shown. They are
 * the rows of tmf_items.def. */
struct tmf_item {
    const char *name;
    uint16_t in_type;
    uint16_t out_type;
    uint16_t length; /* bytes of a binary; 0: the type says it */
    uint8_t style;   /* enum wpp_style */
};

/* The item called ${name}, whatever its case; NULL if its layout is not known. */
const struct tmf_item *tmf_item_find(struct span name);

#endif
