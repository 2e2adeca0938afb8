#ifndef ETWSHIP_EVENT_SCHEMA_FORMS_H
#define ETWSHIP_EVENT_SCHEMA_FORMS_H

#include "event/model/schema.h"

/*
 * What a pair of in and out type means for the shown value: the out type decides where it is one
 * of those that the in type allows, else the in type (TDH_IN_TYPE and TDH_OUT_TYPE in tdh.h; the
 * outType attribute in the manifest schema). FORM_NONE for an in type that does not exist.
 */
enum value_form schema_forms_of(uint16_t in_type, uint16_t out_type);

/* Bytes of a value; 0 for pointers, strings and whatever else has no size of its own. */
uint8_t schema_forms_fixed_size(uint16_t in_type);

#endif
