#ifndef ETWSHIP_SCHEMA_WPP_PLAN_H
#define ETWSHIP_SCHEMA_WPP_PLAN_H

#include "schema/wpp/tmf.h"

/*
 * Make the finished schema of a message: arguments as fields `arg10`, `arg11`, …, and the text
 * split into pieces (event/value/wpp_format.h). It lives in ${arena} but borrows texts of
 * ${message}. The layout ends (event_schema.open_end) before an argument of unknown size. Beyond
 * 1,023 inserts or 256 KB the text stays as written; a list of arguments or types above 128 KB is
 * not shown. NULL with ${err} set if memory is short.
 */
struct event_schema *wpp_plan_make(
    const struct tmf_message *message, struct arena *arena, struct error *err);

#endif
