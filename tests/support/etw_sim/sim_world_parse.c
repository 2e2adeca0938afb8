#include "support/etw_sim/sim_world_parse.h"

/* Tables have the arguments of each statement; the parser knows words, numbers and GUIDs. */
enum word_type { WORD_NONE, WORD_NUMBER, WORD_TEXT, WORD_PATH };

static const struct verb {
    const char *name;
    uint8_t words[2]; /* enum word_type */
} verbs[] = {
    [SIM_WORLD_PROCESSORS] = {"processors", {WORD_NUMBER}},
    [SIM_WORLD_WINDOWS] = {"windows", {WORD_NUMBER}},
    [SIM_WORLD_LOGGER] = {"logger", {WORD_NUMBER}},
    [SIM_WORLD_HEAPS] = {"heaps", {WORD_NUMBER}},
    [SIM_WORLD_OWN] = {"own", {WORD_NUMBER, WORD_TEXT}},
    [SIM_WORLD_NOT_ADMINISTRATOR] = {"not_administrator", {WORD_NONE}},
    [SIM_WORLD_NO_PROFILE_PRIVILEGE] = {"no_profile_privilege", {WORD_NONE}},
    [SIM_WORLD_SCHEMAS] = {"schemas", {WORD_TEXT}},
    [SIM_WORLD_LEARN] = {"learn", {WORD_TEXT}},
    [SIM_WORLD_NAMES] = {"names", {WORD_TEXT}},
    [SIM_WORLD_PROVIDER] = {"provider", {WORD_TEXT}},
    [SIM_WORLD_EMIT] = {"emit", {WORD_TEXT, WORD_PATH}},
    [SIM_WORLD_SESSION] = {"session", {WORD_TEXT}},
    [SIM_WORLD_PROCESS] = {"process", {WORD_NUMBER, WORD_TEXT}},
    [SIM_WORLD_CALLS] = {"calls", {WORD_TEXT}},
};

enum option_type { OPTION_NUMBER, OPTION_TEXT, OPTION_GUID, OPTION_KIND, OPTION_FLAG };

#define AT(member) offsetof(struct sim_world_item, member)

static const struct option {
    enum sim_world_verb verb;
    const char *name;
    enum option_type type;
    size_t offset;
} options[] = {
    {SIM_WORLD_PROVIDER, "guid", OPTION_GUID, AT(guid)},
    {SIM_WORLD_PROVIDER, "kind", OPTION_KIND, AT(kind)},
    {SIM_WORLD_PROVIDER, "pid", OPTION_NUMBER, AT(pid)},
    {SIM_WORLD_PROVIDER, "kernel", OPTION_FLAG, AT(kernel)},
    {SIM_WORLD_PROVIDER, "error", OPTION_NUMBER, AT(error)},
    {SIM_WORLD_PROVIDER, "unregistered", OPTION_FLAG, AT(unregistered)},
    {SIM_WORLD_EMIT, "rate", OPTION_NUMBER, AT(rate)},
    {SIM_WORLD_EMIT, "rounds", OPTION_NUMBER, AT(rounds)},
    {SIM_WORLD_SESSION, "guid", OPTION_GUID, AT(guid)},
    {SIM_WORLD_SESSION, "mode", OPTION_NUMBER, AT(mode)},
    {SIM_WORLD_SESSION, "buffer", OPTION_NUMBER, AT(buffer)},
    {SIM_WORLD_SESSION, "flags", OPTION_NUMBER, AT(flags)},
    {SIM_WORLD_SESSION, "clock", OPTION_NUMBER, AT(clock)},
    {SIM_WORLD_SESSION, "control_error", OPTION_NUMBER, AT(error)},
    {SIM_WORLD_SESSION, "open_error", OPTION_NUMBER, AT(open_error)},
    {SIM_WORLD_PROCESS, "package", OPTION_TEXT, AT(package)},
    {SIM_WORLD_PROCESS, "app", OPTION_TEXT, AT(app)},
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]), OPTIONS = sizeof(options) / sizeof(options[0]) };

struct parser {
    const char *name;
    struct arena *arena;
    struct error *err;
    uint32_t line;
    struct span rest; /* of the line */
};

#define FAIL(p, format, ...) \
    error_set((p)->err, ERR_FORMAT, "%s:%u: " format, (p)->name, (p)->line, __VA_ARGS__)

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct parser *p)
{
    size_t at = 0;
    while (at < p->rest.size && is_blank(p->rest.data[at])) {
        at++;
    }
    p->rest = span_from(p->rest, at);
    if (p->rest.size && p->rest.data[0] == '#') {
        p->rest.size = 0;
    }
}

/* The next word; empty with NULL data at the end of the line. False for an open quote. */
static bool take_word(struct parser *p, struct span *ret_word)
{
    skip_blanks(p);
    *ret_word = span_make(NULL, 0);
    if (p->rest.size == 0) {
        return true;
    }
    bool quoted = p->rest.data[0] == '"';
    struct span from = span_from(p->rest, quoted ? 1 : 0);
    size_t size = 0;
    while (size < from.size && (quoted ? from.data[size] != '"' : !is_blank(from.data[size]))) {
        size++;
    }
    if (quoted && size == from.size) {
        return FAIL(p, "%s", "a quote is not closed");
    }
    *ret_word = span_first(from, size);
    p->rest = span_from(from, size + (quoted ? 1 : 0));
    return true;
}

static bool need_word(struct parser *p, const char *of, struct span *ret_word)
{
    return take_word(p, ret_word) &&
           (ret_word->data || FAIL(p, "'%s' needs something behind it", of));
}

/* 0 to 15; anything else is no digit. */
static unsigned digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - (unsigned)'0';
    }
    unsigned letter = c | 0x20u;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : UINT8_MAX;
}

static bool number_of(struct parser *p, struct span word, uint32_t *ret_number)
{
    bool hex = word.size > 2 && word.data[0] == '0' && (word.data[1] | 0x20) == 'x';
    const unsigned base = hex ? 16 : 10;
    uint64_t value = 0;
    bool ok = word.size > 0;
    for (size_t i = hex ? 2 : 0; ok && i < word.size; i++) {
        unsigned digit = digit_of(word.data[i]);
        value = value * base + digit;
        ok = digit < base && value <= UINT32_MAX;
    }
    if (!ok) {
        return FAIL(p, "'%.*s' is no number of 32 bits", SPAN_ARG(word));
    }
    *ret_number = (uint32_t)value;
    return true;
}

static bool text_of(struct parser *p, struct span word, const char **ret_text)
{
    struct span copy;
    if (word.size && memchr(word.data, 0, word.size)) {
        return FAIL(p, "%s", "a NUL is no text");
    }
    if (!arena_copy(p->arena, word, &copy)) {
        return FAIL(p, "%s", "out of memory");
    }
    *ret_text = (const char *)copy.data;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool kind_of(struct parser *p, struct span word, uint32_t *ret_kind)
{
    static const char *const names[] = {[ETW_SIM_MANIFEST] = "manifest",
        [ETW_SIM_TRACELOGGING] = "tracelogging",
        [ETW_SIM_CLASSIC] = "classic"};
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_is(word, names[i])) {
            *ret_kind = i;
            return true;
        }
    }
    return FAIL(p, "'%.*s' is no kind of provider", SPAN_ARG(word));
}

static bool read_option(struct parser *p, const struct option *option, struct sim_world_item *item)
{
    void *place = (char *)item + option->offset;
    struct span word;
    if (option->type == OPTION_FLAG) {
        *(uint32_t *)place = 1;
        return true;
    }
    if (!need_word(p, option->name, &word)) {
        return false;
    }
    switch (option->type) {
    case OPTION_NUMBER:
        return number_of(p, word, place);
    case OPTION_TEXT:
        return text_of(p, word, place);
    case OPTION_KIND:
        return kind_of(p, word, place);
    default:
        return guid_parse(word, place) || FAIL(p, "'%.*s' is no GUID", SPAN_ARG(word));
    }
}

static bool read_options(struct parser *p, struct sim_world_item *item)
{
    struct span word;
    while (take_word(p, &word)) {
        if (!word.data) {
            return true;
        }
        size_t i = 0;
        while (i < OPTIONS && (options[i].verb != item->verb || !span_is(word, options[i].name))) {
            i++;
        }
        if (i == OPTIONS) {
            return FAIL(p, "'%s' knows no '%.*s'", verbs[item->verb].name, SPAN_ARG(word));
        }
        if (!read_option(p, &options[i], item)) {
            return false;
        }
    }
    return false;
}

static bool read_words(struct parser *p, struct sim_world_item *item)
{
    const struct verb *verb = &verbs[item->verb];
    for (size_t i = 0; i < 2 && verb->words[i] != WORD_NONE; i++) {
        struct span word;
        if (!need_word(p, verb->name, &word)) {
            return false;
        }
        bool ok = verb->words[i] == WORD_NUMBER ? number_of(p, word, &item->number)
                  : verb->words[i] == WORD_TEXT ? text_of(p, word, &item->name)
                                                : text_of(p, word, &item->path);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* The statement on the line; NULL in ${ret_item} if there is none. */
static bool read_line(struct parser *p, struct sim_world_item **ret_item)
{
    struct span word;
    *ret_item = NULL;
    if (!take_word(p, &word)) {
        return false;
    }
    if (!word.data) {
        return true;
    }
    size_t verb = 0;
    while (verb < VERBS && !span_is(word, verbs[verb].name)) {
        verb++;
    }
    if (verb == VERBS) {
        return FAIL(p, "'%.*s' is no statement of a world", SPAN_ARG(word));
    }
    struct sim_world_item *item = arena_alloc(p->arena, sizeof(*item));
    if (!item) {
        return FAIL(p, "%s", "out of memory");
    }
    item->verb = (enum sim_world_verb)verb;
    item->line = p->line;
    *ret_item = item;
    return read_words(p, item) && read_options(p, item);
}

bool sim_world_parse(struct span text, const char *name, struct arena *arena,
    struct sim_world_item **ret_first, struct error *err)
{
    struct parser p = {.name = name, .arena = arena, .err = err};
    struct sim_world_item *first = NULL;
    struct sim_world_item **link = &first;
    while (text.size) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        p.rest = span_first(text, size);
        p.line++;
        if (!read_line(&p, link)) {
            return false;
        }
        if (*link) {
            link = &(*link)->next;
        }
        text = span_from(text, size + (end ? 1 : 0));
    }
    *ret_first = first;
    return true;
}
