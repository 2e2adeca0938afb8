#ifndef ETWSHIP_ETW_ETW_NAMES_H
#define ETWSHIP_ETW_ETW_NAMES_H

#include "base/error.h"
#include "base/span.h"
#include "etw/etw_types.h"

/*
 * The providers of this machine by name: those registered with a manifest or MOF
 * (tdhenumerateproviders, tdhenumerateproviderfieldinformation, tdhenumeratemanifestproviderevents
 * on learn.microsoft.com). TraceLogging providers are in no list; their GUID is derived from the
 * name (guid_from_name).
 */
struct etw_names;

/* The current list; one thread at a time. NULL if the system has none (ERR_IO, ERR_UNSUPPORTED), or
 * out of memory. */
struct etw_names *etw_names_create(struct error *err);
void etw_names_destroy(struct etw_names *names); /* NULL is fine */

/* The provider called ${name}, without regard to case; false: none. ${names} may be NULL. */
bool etw_names_find(const struct etw_names *names, struct span name, struct guid *ret_guid);

/* A provider in the list. */
struct etw_known_provider {
    struct guid guid;
    bool is_mof;      /* else a manifest */
    const char *name; /* UTF-8; empty: none */
};

/* Call ${each} for every provider of the list, whose texts are valid until it returns. */
void etw_names_each(const struct etw_names *names,
    void (*each)(void *self, const struct etw_known_provider *provider), void *self);

/* A keyword, level, channel, task or opcode of a provider. */
struct etw_known_field {
    uint64_t value;   /* of an opcode: bits 0-15 its task, 16-23 the opcode */
    const char *name; /* UTF-8 */
    const char *text; /* its description; empty: none */
};

/* Call ${each}, until it returns false, for each item of ${type} (ETW_FIELD_*) of a registered
 * provider; texts are valid until it returns. No calls if unknown. */
void etw_names_each_field(const struct guid *provider, uint32_t type,
    bool (*each)(void *self, const struct etw_known_field *field), void *self);

/* Call ${each}, until it returns false, for the descriptors of all events of a provider registered
 * with a manifest. */
void etw_names_each_event(const struct guid *provider,
    bool (*each)(void *self, const struct event_descriptor *event), void *self);

/* The bits of a keyword of a registered provider, without regard to case; false: unknown. */
bool etw_names_keyword(const struct guid *provider, struct span name, uint64_t *ret_bits);

/* The descriptors of the events ${id} of a registered provider, one per version; at most
 * ${capacity}. 0: none known. */
size_t etw_names_events(
    const struct guid *provider, uint16_t id, struct event_descriptor *ret_events, size_t capacity);

#endif
