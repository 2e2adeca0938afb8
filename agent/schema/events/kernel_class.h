#ifndef ETWSHIP_SCHEMA_KERNEL_CLASS_H
#define ETWSHIP_SCHEMA_KERNEL_CLASS_H

/* The classes of kernel_classes.def by number, CLASS_<symbol>. */
enum kernel_class {
#define KERNEL_CLASS(symbol, name, guid, group) CLASS_##symbol,
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid) CLASS_##symbol,
#define KERNEL_TYPE(symbol, version, types, fields)
#define KERNEL_NAME(symbol, type, name)
#include "schema/events/kernel_classes.def"
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
#undef KERNEL_TYPE
#undef KERNEL_NAME
    CLASS_COUNT
};

#endif
