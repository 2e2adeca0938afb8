#include "event/write/event_options.h"

#define ARGUMENTS(...) __VA_ARGS__
#define NO_WORDS ("%s", "")

bool event_options_equal(const struct event_options *a, const struct event_options *b)
{
#define IS_SAME_NUMBER(a, b) ((a) == (b))
#define IS_SAME_TEXT(a, b) span_equal(a, b)
#define OPTION(kind, type, member, key, id) IS_SAME_##kind(a->member, b->member) &&
    return
#include "event/write/event_options.def"
        true;
#undef OPTION
}

void event_options_add_key(const struct event_options *o, struct buf *out)
{
#define OPTION(kind, type, member, key, id) buf_printf(out, ARGUMENTS key);
#include "event/write/event_options.def"
#undef OPTION
}

void event_options_add_id(const struct event_options *o, struct buf *out)
{
#define OPTION(kind, type, member, key, id) buf_printf(out, ARGUMENTS id);
#include "event/write/event_options.def"
#undef OPTION
}

void event_options_add_texts(const struct event_options *options, struct buf *out)
{
#define ADD_NUMBER(member)
#define ADD_TEXT(member) buf_add_span(out, options->member);
#define OPTION(kind, type, member, key, id) ADD_##kind(member)
#include "event/write/event_options.def"
#undef OPTION
}

static void take(struct span *text, struct span *rest)
{
    *text = span_first(*rest, text->size);
    *rest = span_from(*rest, text->size);
}

void event_options_take_texts(struct event_options *options, struct span texts)
{
#define TAKE_NUMBER(member)
#define TAKE_TEXT(member) take(&options->member, &texts);
#define OPTION(kind, type, member, key, id) TAKE_##kind(member)
#include "event/write/event_options.def"
#undef OPTION
}
