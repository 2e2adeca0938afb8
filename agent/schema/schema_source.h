#ifndef ETWSHIP_SCHEMA_SCHEMA_SOURCE_H
#define ETWSHIP_SCHEMA_SCHEMA_SOURCE_H

#include "event/schema.h"

/*
 * Where layouts come from. A source is one file and one line in schema_sources.def. Sources are
 * called by the cache alone, on one thread but for shared ones, and only for event types not seen
 * before: they may be slow. Schemas they hand out live as long as the source, but for those of
 * sources with `losses`: what events say of themselves may have to give way to what others say.
 */
enum { SCHEMA_MAX_CANDIDATES = 16 };

/* Definitions found for one event type, best first. */
struct schema_candidates {
    const struct event_schema *list[SCHEMA_MAX_CANDIDATES];
    bool yields[SCHEMA_MAX_CANDIDATES]; /* gives way to what other sources of the trace know */
    size_t count;
    bool late; /* a source is still looking: see schema_source_ops.news */
};

/* Add one; silently left out when the list is full or ${schema} is NULL. */
void schema_candidates_add(struct schema_candidates *to, const struct event_schema *schema);

/* The same for a definition that the trace carries, but for another process than the record's. */
void schema_candidates_add_yielding(
    struct schema_candidates *to, const struct event_schema *schema);

/* Who knows names alone gives way to who knows what the bytes mean; else the order stays. */
void schema_candidates_put_layouts_first(struct schema_candidates *candidates);

/*
 * What a source that keeps what events say could not keep: any process may write events, so there is a
 * maximum, and everything that is beyond it is counted.
 */
struct schema_losses {
    uint64_t evicted;     /* times that definitions gave way to others. They may be learned again */
    uint64_t refused;     /* definitions that found no room; their names may have */
    uint64_t conflicts;   /* manifests that give a provider another name than it has */
    struct guid provider; /* of one of the last of these */
    uint64_t gone; /* grows whenever schemas that were handed out are gone, or others than before */
};

/* Has more been lost than ${before}? */
bool schema_losses_differ(const struct schema_losses *losses, const struct schema_losses *before);

/* For people, one sentence without an end: "definitions gave way to others 3 times, …". */
enum { SCHEMA_LOSSES_TEXT_BYTES = 512 };
void schema_losses_describe(
    const struct schema_losses *losses, char ret_text[SCHEMA_LOSSES_TEXT_BYTES]);

/* Add one source's counts; its provider counts if any of the first three is not 0. */
void schema_losses_add(struct schema_losses *losses, const struct schema_losses *more);

struct schema_source_settings {
    const char *const *paths; /* files or folders the user named (manifest, pack) */
    size_t path_count;
    struct span pack;     /* text of a schema pack that goes before those of files; empty: none */
    struct span tmf;      /* the same of trace message formats */
    size_t max_tmf_bytes; /* of memory for trace message formats; 0: 512 MB */
    size_t
        max_learned_bytes; /* of memory, for what events say, per source; 0: as the source has it */
    /* Of memory, for the definitions of files that caches share; 0: no limit. */
    size_t max_definition_bytes;
    /* Set by schema_shared_create. Charged for what is made of files, and while they are read; outlives the sources. NULL: none. */
    struct arena_budget *budget;
    /* Called for each file that cannot be used, with one line of text; may be NULL. */
    void (*warn)(void *warn_self, const char *text);
    void *warn_self;
};

/* One line of text to the user, if anybody listens. */
void schema_source_warn(const struct schema_source_settings *settings, const char *text);

/* The maximum of ${settings}, at most ${usual}, which counts where they have none. */
size_t schema_source_learned_bytes(const struct schema_source_settings *settings, size_t usual);

struct schema_source_ops {
    const char *name; /* `--schema-source`, `schema.source` */

    /* How the names of its files end (schema_files_is_one). NULL: it reads no files. */
    const char *const *endings;

    /* One object may serve caches on any threads at the same time (schema_shared.h): of files, which
     * are all read when it is made, or of the system. */
    bool shared;

    /* NULL with ${err} set if the source cannot work at all; single bad files are warnings. */
    void *(*create)(const struct schema_source_settings *settings, struct error *err);

    /*
     * Learn from a record that carries metadata (embedded TRACE_EVENT_INFO, ManifestData).
     * True if something new was learned, so that remembered misses must be forgotten.
     * NULL if the source learns nothing from traces.
     */
    bool (*learn)(void *self, const struct event_record *record);

    /* Has any process sent a definition of its own of the record's provider? And has the record's? Then
     * the answer is that process's alone. NULL: processes make no difference. */
    bool (*knows_any)(const void *self, const struct event_record *record);
    bool (*knows_own)(const void *self, const struct event_record *record);

    /* Add this source's definitions of the record's event type, best first. */
    void (*find)(void *self, const struct event_record *record, struct schema_candidates *found);

    /* Of a source that may leave `late` behind: changes whenever such an answer has come. Never
     * waits. NULL if its answers are never late. */
    uint64_t (*news)(void *self);

    /* Add what the source could not keep so far. Schemas go, and then `gone` grows, in learn and find
     * alone, and never those that this call of find adds. NULL: schemas live as long as the source. */
    void (*losses)(void *self, struct schema_losses *losses);

    /* The name of a provider of which the source may know no more than that; empty: it does not. Valid
     * until the next call of learn. NULL: names are those of its schemas. */
    struct span (*provider_name)(const void *self, const struct guid *provider);

    /* Call ${each} for every schema the source knows (schema export, list, show). May be NULL. */
    void (*list)(void *self, void (*each)(void *each_self, const struct event_schema *schema),
        void *each_self);

    void (*destroy)(void *self); /* NULL is fine */
};

/* Of an event with TraceLogging metadata, what it is called and by whom, without a layout: views into
 * ${record}. Where there is no memory for more. */
void schema_tracelogging_names(const struct event_record *record, struct event_schema *ret_schema);

#define SCHEMA_SOURCE(id) extern const struct schema_source_ops schema_source_##id;
#include "schema/schema_sources.def"
#undef SCHEMA_SOURCE

#endif
