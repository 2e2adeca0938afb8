#ifndef ETWSHIP_FILTER_FILTER_PART_H
#define ETWSHIP_FILTER_FILTER_PART_H

#include "filter/filter_program.h"
#include "filter/push/filter_push.h"

/*
 * A set of events, described by what is known of all of them, and whether a list of rules may keep
 * any. This is abstract interpretation of the compiled tests: each may be true, false, or either,
 * which determines the tests that may follow. Unknown values can only increase the possible events.
 * Internal to filter_push.
 */

/* The fields that a part describes, by event_path.field. */
struct filter_fields {
    uint8_t code;
    uint8_t level;
    uint8_t keywords;
    uint8_t keywords_name;
    uint8_t pid;
    uint8_t session;
    uint8_t provider_name;
    uint8_t provider_guid;
    uint8_t data;
    uint64_t header[4]; /* event.* fields from the header */
    uint64_t names[4];  /* event.* and provider.* fields added by a definition */
    uint64_t unstated[SCHEMA_UNSTATED_BITS]
                     [4]; /* both of one part, by the bit of schema_unstated */
};

bool filter_part_fields(struct filter_fields *fields);

/* Which fields are known, by event_path.field. */
struct filter_known {
    uint64_t bits[4];
};

static inline bool filter_known_has(const struct filter_known *known, uint8_t field)
{
    return known->bits[field / 64] >> field % 64 & 1;
}

static inline void filter_known_add(struct filter_known *known, uint8_t field)
{
    known->bits[field / 64] |= UINT64_C(1) << field % 64;
}

/* Known bits of event.keywords if the whole number is unknown. */
struct filter_masks {
    bool given;
    bool nonzero;
    uint64_t zeros;
    uint64_t ones;
};

/* Keyword names by bits, from any definition. */
struct filter_keyword_names {
    const struct filter_push_event *events;
    size_t count;
};

struct filter_part {
    struct event_record record; /* only what `known` covers is valid */
    struct event event;         /* with its definition, or NULL */
    struct filter_known known;
    bool knows_layout; /* event.schema describes the payload; NULL: no fields */
    bool name_by_case; /* the provider's name may differ in case */
    struct filter_masks keywords;
    const struct filter_op *const *denied; /* tests assumed to be false */
    size_t denied_count;
};

/* Rules of one list that may be true for the events of a plan. */
struct filter_part_list {
    const struct filter *filter;
    uint32_t *rules; /* in order */
    size_t count;
};

/* The arguments of parts. */
struct filter_asker {
    struct filter_fields fields;
    struct filter_scratch *scratch;
    struct filter_keyword_names names;
    uint8_t *reached; /* one flag for each test of a rule */
};

/* True if an event of the part may satisfy the rule. */
bool filter_part_may_match(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_code *code);

/* True if the list may keep an event of the part. False proves that it keeps none. */
bool filter_part_may_keep(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_part_list *list);

/* Bits of a keyword's folded name; 0: no definition has it, or it has no bits. */
uint64_t filter_part_bits_of(const struct filter_keyword_names *names, struct span name);

#endif
