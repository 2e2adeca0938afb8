#ifndef ETWSHIP_SCHEMA_SCHEMA_SOURCE_H
#define ETWSHIP_SCHEMA_SCHEMA_SOURCE_H

#include "event/model/schema.h"

/*
 * Interface of the schema sources. A source is one file and one line in schema_sources.def. Only
 * the cache calls sources, on one thread except for shared ones, and only for event types it has
 * not seen: sources may be slow. Schemas live as long as their source; sources with `losses` may
 * evict them earlier to make room for definitions from other events.
 */
enum { SCHEMA_MAX_CANDIDATES = 16 };

/* Definitions of one event type, best first. */
struct schema_candidates {
    const struct event_schema *list[SCHEMA_MAX_CANDIDATES];
    bool yields[SCHEMA_MAX_CANDIDATES]; /* other sources of the trace take precedence */
    size_t count;
    bool late; /* a source is still searching; see schema_source_ops.news */
};

/* Add a definition; ignored if the list is full or ${schema} is NULL. */
void schema_candidates_add(struct schema_candidates *to, const struct event_schema *schema);

/* Add a definition that the trace carries for a process other than the record's. */
void schema_candidates_add_yielding(
    struct schema_candidates *to, const struct event_schema *schema);

/* Move definitions that have only names after those with a layout; the order is otherwise kept. */
void schema_candidates_put_layouts_first(struct schema_candidates *candidates);

/*
 * Counts of what a learning source could not keep. Any process may write events, so memory is
 * limited, and everything beyond is counted.
 */
struct schema_losses {
    uint64_t evicted;     /* definitions evicted by others; they may be learned again */
    uint64_t refused;     /* definitions that did not fit; their names may have */
    uint64_t conflicts;   /* manifests with a wrong provider name */
    struct guid provider; /* of one of the latest of these */
    uint64_t gone;        /* grows whenever schemas that were handed out are freed or replaced */
};

/* True if more was lost than ${before}. */
bool schema_losses_differ(const struct schema_losses *losses, const struct schema_losses *before);

/* Describe the losses for people, as one sentence without full stop. */
enum { SCHEMA_LOSSES_TEXT_BYTES = 512 };
void schema_losses_describe(
    const struct schema_losses *losses, char ret_text[SCHEMA_LOSSES_TEXT_BYTES]);

/* Add the counts of one source; its provider is taken if any of the first three counts is not 0. */
void schema_losses_add(struct schema_losses *losses, const struct schema_losses *more);

struct schema_source_settings {
    const char *const *paths; /* files or folders that the user names */
    size_t path_count;
    const char *language; /* of texts, such as en-US, where files have several; NULL: en-US */
    struct span pack;     /* text of a schema pack that precedes those from files; empty: none */
    struct span tmf;      /* text of trace message formats, likewise */
    size_t max_tmf_bytes; /* memory limit of trace message formats; 0: 512 MB */
    /* memory limit of definitions from events, per source; 0: its default */
    size_t max_learned_bytes;
    /* Memory limit of definitions from files that caches share; 0: none. */
    size_t max_definition_bytes;
    /* Set by schema_shared_create: charged for reading files and for their definitions. Outlives
     * the sources. NULL: none. */
    struct arena_budget *budget;
    /* Set by schema_shared_create and schema_source_set_init: true if some source reads files with
     * the ending of ${path}. NULL: no other source does. */
    bool (*is_read)(const char *path);
    /* Called with one line of text: for each unusable file, while sources are made; and if the
     * system does not answer, on any thread as long as they live. May be NULL. */
    void (*warn)(void *warn_self, const char *text);
    void *warn_self;
};

/* Pass one line of text to the warn callback, if there is one. */
void schema_source_warn(const struct schema_source_settings *settings, const char *text);

/* The limit of ${settings}, but at most ${usual}; ${usual} if there is none. */
size_t schema_source_learned_bytes(const struct schema_source_settings *settings, size_t usual);

struct schema_source_ops {
    const char *name; /* `--schema-source`, `schema.source` */

    /* File name endings (schema_files_is_one). NULL: reads no files. */
    const char *const *endings;

    /* One instance may serve caches on any threads at once (schema_shared.h): its files are all
     * read at creation, or it queries the system. */
    bool shared;

    /* NULL with ${err} set if the source cannot work at all; unusable files only cause warnings. */
    void *(*create)(const struct schema_source_settings *settings, struct error *err);

    /*
     * Learn from a record that carries metadata (embedded TRACE_EVENT_INFO, ManifestData). True if
     * something new was learned, so that cached misses must be dropped. NULL if the source does not
     * learn from traces.
     */
    bool (*learn)(void *self, const struct event_record *record);

    /* Whether any process, or the record's process, has sent its own definition of the record's
     * provider. If its own did, the answer applies to that process only. NULL: processes do not
     * matter. */
    bool (*knows_any)(const void *self, const struct event_record *record);
    bool (*knows_own)(const void *self, const struct event_record *record);

    /* Add the definitions of the record's event type, best first. */
    void (*find)(void *self, const struct event_record *record, struct schema_candidates *found);

    /* Changes whenever an answer arrives that was late before. Never waits. NULL if answers are
     * never late. */
    uint64_t (*news)(void *self);

    /* Add what the source could not keep so far. Schemas are freed only in learn and find, which
     * increases `gone`, and never those that the current call of find adds. NULL: schemas live as
     * long as the source. */
    void (*losses)(void *self, struct schema_losses *losses);

    /* Name of a provider, even if the source knows nothing else of it; empty if unknown. Valid
     * until the next call of learn. NULL: only its schemas have names. */
    struct span (*provider_name)(const void *self, const struct guid *provider);

    /* Texts that values of a provider's events refer to by number, for its GUID or its name; NULL:
     * none. They live as long as the source. NULL if the source has none at all. */
    const struct schema_parameters *(*parameters)(
        const void *self, const struct guid *provider, struct span name);

    /* Call ${each} for every schema that the source knows (schema export, list, show). May be
     * NULL. */
    void (*list)(void *self, void (*each)(void *each_self, const struct event_schema *schema),
        void *each_self);

    void (*destroy)(void *self); /* NULL is fine */
};

/* Event and provider name of an event with TraceLogging metadata, as a schema without layout. The
 * names are views into ${record}. For use when memory is short. */
void schema_tracelogging_names(const struct event_record *record, struct event_schema *ret_schema);

#endif
