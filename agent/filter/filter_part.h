#ifndef ETWSHIP_FILTER_FILTER_PART_H
#define ETWSHIP_FILTER_FILTER_PART_H

#include "filter/filter_program.h"
#include "filter/filter_push.h"

/*
 * A set of events, by what is known of all of them; and whether a list of rules may keep one of it. That is
 * abstract interpretation of the compiled tests: each may be true, false, or either, and what it may be
 * decides which tests may come next. What is not known can only make more events possible. Not for
 * users of filter_push.h.
 */

/* The fields that a part is about, by event_path.field. */
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
    uint64_t header[4]; /* event.* that the header holds */
    uint64_t names[4];  /* event.* and provider.* that a definition adds to it */
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

/* Bits of event.keywords that are known, where the number is not. */
struct filter_masks {
    bool given;
    bool nonzero;
    uint64_t zeros;
    uint64_t ones;
};

/* Names of keywords by their bits, of whatever definition. */
struct filter_keyword_names {
    const struct filter_push_event *events;
    size_t count;
};

struct filter_part {
    struct event_record record; /* what `known` says of it counts */
    struct event event;         /* its definition, or NULL */
    struct filter_known known;
    bool knows_layout; /* event.schema says which fields a payload has, NULL: none */
    bool name_by_case; /* the provider's name may be in another case */
    struct filter_masks keywords;
    const struct filter_op *const *denied; /* tests that are taken to be false */
    size_t denied_count;
};

/* Rules of one list that may be true for the events that a plan is about. */
struct filter_part_list {
    const struct filter *filter;
    uint32_t *rules; /* in order */
    size_t count;
};

/* What parts are asked with. */
struct filter_asker {
    struct filter_fields fields;
    struct filter_scratch *scratch;
    struct filter_keyword_names names;
    uint8_t *reached; /* room for the tests of any rule */
};

/* May one event of the part make the rule true? */
bool filter_part_may_match(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_code *code);

/* May the list keep one event of the part? False is a proof that it keeps none. */
bool filter_part_may_keep(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_part_list *list);

/* The bits of a keyword's name, folded; 0: no definition has it, or not by bits. */
uint64_t filter_part_bits_of(const struct filter_keyword_names *names, struct span name);

#endif
