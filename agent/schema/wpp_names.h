#ifndef ETWSHIP_SCHEMA_WPP_NAMES_H
#define ETWSHIP_SCHEMA_WPP_NAMES_H

#include "schema/tmf.h"

/*
 * The names of an argument's values: of a list or set those in its type, of an enumeration those that
 * the trace message format tells. NULL in ${ret_map}: it has none. Texts are those of ${argument}, the
 * rest lives in ${arena}. False: no memory is left.
 */
bool wpp_names_make(
    const struct tmf_argument *argument, struct arena *arena, const struct schema_map **ret_map);

#endif
