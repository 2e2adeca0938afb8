#ifndef ETWSHIP_SCHEMA_WPP_PLAN_H
#define ETWSHIP_SCHEMA_WPP_PLAN_H

#include "schema/tmf.h"

/*
 * The schema of a message: its arguments as fields `arg10`, `arg11`, … and its text taken apart
 * (event/wpp_format.h), finished. Everything lives in ${arena}, but for texts of ${message} that are
 * borrowed. The layout ends (event_schema.open_end) before an argument whose size is not known.
 * Beyond 1,023 inserts or 256 KB the text stands as it was written; a list of arguments or types above
 * 128 KB is not shown. NULL with ${err} set where memory runs out.
 */
struct event_schema *wpp_plan_make(
    const struct tmf_message *message, struct arena *arena, struct error *err);

#endif
