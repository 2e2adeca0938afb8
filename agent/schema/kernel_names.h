#ifndef ETWSHIP_SCHEMA_KERNEL_NAMES_H
#define ETWSHIP_SCHEMA_KERNEL_NAMES_H

#include "base/guid.h"
#include "base/span.h"

/*
 * The kernel event that people call ${name}: Class/EventTypeName of kernel_classes.def, as in
 * Process/Start, without regard to case. Where a name stands for several types of its class, the
 * lowest. False: there is none.
 */
bool kernel_names_find(struct span name, struct guid *ret_class, uint8_t *ret_type);

/* The one that misspelt ${name} is near enough to, into ${ret_text} with a 0 behind; false: none. */
enum { KERNEL_NAMES_TEXT_SIZE = 96 };
bool kernel_names_meant(struct span name, char ret_text[KERNEL_NAMES_TEXT_SIZE]);

#endif
