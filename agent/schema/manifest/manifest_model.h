#ifndef ETWSHIP_SCHEMA_MANIFEST_MODEL_H
#define ETWSHIP_SCHEMA_MANIFEST_MODEL_H

#include "base/map.h"
#include "schema/manifest/manifest_events.h"
#include "schema/text/layout.h"

/*
 * A manifest as written, before references are resolved: strings come at the end of the document,
 * and events may refer to later elements. manifest_xml.c fills the model from XML,
 * manifest_binary.c from a compiled manifest; manifest_build.c makes schemas of it. Texts live in
 * the manifest's arena, everything else in `scratch`, which is freed after the build.
 */

/* Items that events and properties refer to by name. Each kind has its own namespace. */
enum model_kind {
    MODEL_LEVEL,
    MODEL_TASK,
    MODEL_OPCODE,
    MODEL_KEYWORD,
    MODEL_CHANNEL,
    MODEL_MAP,
    MODEL_TEMPLATE,
    MODEL_KINDS,
};

/* Maximum of names per provider and kind, and of strings per manifest. */
enum { MODEL_MAX_NAMES = 1 << 20 };

/* A level, task, opcode, keyword or channel. */
struct model_name {
    struct span name;
    struct span message;        /* string reference or text */
    uint64_t value;             /* channel number */
    uint64_t mask;              /* bits of a keyword or channel */
    struct model_name *opcodes; /* opcodes of a task */
    size_t opcode_count;
    struct model_name *next;
};

struct model_entry {
    uint64_t value;
    struct span message;
    struct span symbol;
    struct model_entry *next;
};

struct model_map {
    struct span name;
    enum map_kind kind;
    struct model_entry *first;
    struct model_entry *last;
    size_t count;
    struct schema_map *built;
};

enum model_state { MODEL_NEW, MODEL_BUILT, MODEL_BROKEN };

struct model_template {
    struct span name;
    struct layout layout;
    /* set for a compiled template, with its table in `schema` already; else NULL */
    const struct span *map_names;
    enum model_state state;
    char broken[200];           /* reason if MODEL_BROKEN */
    struct event_schema schema; /* layout only, finished; copied into each event */
};

/* References as written. `template` may be defined inside the event. */
struct model_event {
    /* set for a compiled event; NULL: made from the texts below */
    const struct event_descriptor *descriptor;
    struct span id;
    struct span version;
    struct span level;
    struct span task;
    struct span opcode;
    struct span keywords;
    struct span channel;
    struct span template_name;
    struct span message;
    struct span symbol;
    struct model_template *template;
    size_t line;
    struct model_event *next;
};

struct model_provider {
    struct span name;
    struct guid guid;
    bool usable;
    enum schema_kind kind;
    struct map names[MODEL_KINDS]; /* struct model_name, model_map, model_template */
    struct model_name *first_keyword;
    struct model_name *last_keyword;
    struct model_name *first_channel;
    struct model_name *last_channel;
    size_t keyword_count;
    size_t channel_count;
    struct model_event *first_event;
    struct model_event *last_event;
    size_t event_count;
    struct model_provider *next;
};

struct model_string {
    struct span text;
    unsigned rank; /* of the culture; the lowest rank wins, for all strings together */
};

struct model {
    const struct manifest_options *options;
    struct manifest *manifest;
    struct arena scratch;
    struct map strings; /* id -> struct model_string */
    unsigned best_rank; /* of the strings: those of other cultures are not used */
    uint16_t language;  /* of the texts: LANGID; 0: unknown */
    bool has_texts;     /* messages are texts instead of string references */
    struct model_provider *first_provider;
    struct model_provider *last_provider;
    unsigned warnings;
};

/* Warn about ${line} of the manifest; 0: no particular line. */
void manifest_model_warn(struct model *model, size_t line, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

/* Append an item, in manifest order. */
void manifest_model_add_provider(struct model *model, struct model_provider *provider);
void manifest_model_add_keyword(struct model_provider *provider, struct model_name *keyword);
void manifest_model_add_event(struct model_provider *provider, struct model_event *event);
void manifest_model_add_entry(struct model_map *map, struct model_entry *entry);

/* Append a channel. The n-th channel, defined or imported, owns the n-th keyword bit from the top,
 * its `mask`; there are 16 such bits. Returns the number of channels before it. */
size_t manifest_model_add_channel(struct model_provider *provider, struct model_name *channel);

/* Make a manifest from the model that ${fill} fills; ${self} is passed to it. NULL with ${err} set
 * if either step fails. */
struct manifest *manifest_model_make(const struct manifest_options *options,
    bool (*fill)(struct model *model, void *self, struct error *err), void *self,
    struct error *err);

/* Make the schemas of the manifest. False only if memory is short or a limit is reached. */
bool manifest_build(struct model *model, struct error *err);

#endif
