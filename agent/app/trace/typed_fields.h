#ifndef ETWSHIP_APP_TYPED_FIELDS_H
#define ETWSHIP_APP_TYPED_FIELDS_H

#include "app/config/app_config.h"
#include "event/model/index_fields.h"

/*
 * Which fields the payloads have that come to an output (event/model/index_fields.h): by the
 * definitions of the providers that its sessions name, as far as files of `schema`, this machine,
 * the program itself, and if the configuration wants it, recorded traces know them.
 */
struct typed_fields {
    struct index_fields *fields; /* chosen */
    size_t definitions;          /* event types */
    size_t unknown_providers;    /* named ones of which there is no definition */
    size_t open_sessions;        /* that name no providers, and of which nothing was read */
    struct span unknown; /* one of these providers as the configuration has it; empty: none */
    const char *open;    /* one of these sessions; NULL: none */
};

struct typed_fields_settings {
    const struct app_config *config;
    const struct app_output *output;
    bool
        read_traces; /* all of them, but for those that grow: what describes itself is known then */

    /* Told of definitions and traces that cannot be read; NULL: none. */
    void (*warn)(void *warn_self, const char *text);
    void *warn_self;
};

/* 0: the output makes no types of fields, and there is nothing to find. No I/O. */
size_t typed_fields_room(const struct app_output *output);

/* The caller frees ${ret_typed} with typed_fields_fini. False with ${err} set: out of memory, or
 * there is a source of definitions that cannot work. */
bool typed_fields_find(const struct typed_fields_settings *settings, struct typed_fields *ret_typed,
    struct error *err);
void typed_fields_fini(struct typed_fields *typed);

#endif
