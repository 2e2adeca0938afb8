#ifndef ETWSHIP_SCHEMA_WPP_NAMES_H
#define ETWSHIP_SCHEMA_WPP_NAMES_H

#include "schema/wpp/tmf.h"

/*
 * Make the map of an argument's values. Lists and sets have their names in the type, enumerations
 * in the trace message format. *ret_map is NULL if there are none. Texts are views of ${argument},
 * the rest lives in ${arena}. False: no memory.
 */
bool wpp_names_make(
    const struct tmf_argument *argument, struct arena *arena, const struct schema_map **ret_map);

#endif
