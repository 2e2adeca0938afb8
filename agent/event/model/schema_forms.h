#ifndef ETWSHIP_EVENT_SCHEMA_FORMS_H
#define ETWSHIP_EVENT_SCHEMA_FORMS_H

#include "event/model/schema.h"

/*
 * The value form of a pair of in and out type: by the out type if the in type allows it, else by
 * the in type (TDH_IN_TYPE and TDH_OUT_TYPE in tdh.h; the outType attribute in the manifest
 * schema). FORM_NONE for an in type that does not exist.
 */
enum value_form schema_forms_of(uint16_t in_type, uint16_t out_type);

/* Bytes of a value; 0 for pointers, strings and other types without a fixed size. */
uint8_t schema_forms_fixed_size(uint16_t in_type);

#endif
