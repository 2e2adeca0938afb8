#ifndef ETWSHIP_SCHEMA_KERNEL_NAMES_H
#define ETWSHIP_SCHEMA_KERNEL_NAMES_H

#include "base/guid.h"
#include "base/span.h"

/*
 * Find a kernel event by ${name}, Class/EventTypeName of kernel_classes.def (as in Process/Start),
 * ignoring case. If the name is used by several types of its class, the lowest is returned. False
 * if there is none.
 */
bool kernel_names_find(struct span name, struct guid *ret_class, uint8_t *ret_type);

/* Write the name that is most similar to the misspelt ${name} into ${ret_text}, NUL-terminated.
 * False if none is similar enough. */
enum { KERNEL_NAMES_TEXT_SIZE = 96 };
bool kernel_names_meant(struct span name, char ret_text[KERNEL_NAMES_TEXT_SIZE]);

#endif
