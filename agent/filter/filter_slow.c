#include <stdio.h>

#include "filter/filter_program.h"

/*
 * Texts that make a search very slow usually repeat characters of the pattern and fail at their
 * end, like `aaaa!` for `(a+)+$`. The literal prefix of the pattern is put first to pass it. The
 * library does not even start if a character is missing that every match has, so all characters of
 * the pattern may be put at the end.
 */
enum {
    MAX_CHARACTERS = 24,
    MAX_PREFIX_BYTES = 64,
    MAX_RUN_BYTES = 32767, /* a text in a payload is hardly longer */
    MAX_END_BYTES = 1 + MAX_CHARACTERS,
    MAX_TEXT_BYTES = MAX_PREFIX_BYTES + MAX_RUN_BYTES + MAX_END_BYTES,
};

struct trial {
    struct filter_scratch *scratch;
    const struct filter_literal *literal;
    uint8_t prefix[MAX_PREFIX_BYTES];
    size_t prefix_size;
    uint8_t characters[MAX_CHARACTERS];
    size_t count;
    uint8_t text[MAX_TEXT_BYTES];
};

static bool is_alnum(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has_meaning(uint8_t c)
{
    return c && strchr("()[]{}.*+?|^$\\", c);
}

static void add_character(struct trial *trial, uint8_t c)
{
    bool is_new = c >= ' ' && c < 0x7f && !memchr(trial->characters, c, trial->count);
    if (is_new && trial->count < MAX_CHARACTERS) {
        trial->characters[trial->count++] = c;
    }
}

/* Collect the characters in the pattern, and one of each class that it may contain. */
static void gather_characters(struct trial *trial, struct span pattern)
{
    static const char usual[] = "a0 ./\\x";
    trial->count = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        bool is_escape = pattern.data[i] == '\\' && i + 1 < pattern.size;
        uint8_t c = pattern.data[i += is_escape];
        if (!is_escape || !is_alnum(c)) {
            add_character(trial, is_escape || !has_meaning(c) ? c : 'a');
        }
    }
    for (size_t i = 0; i + 1 < sizeof(usual); i++) {
        add_character(trial, (uint8_t)usual[i]);
    }
}

/* Collect the literal prefix of the pattern. */
static void gather_prefix(struct trial *trial, struct span pattern)
{
    size_t i = pattern.size && pattern.data[0] == '^';
    trial->prefix_size = 0;
    while (i < pattern.size && trial->prefix_size < MAX_PREFIX_BYTES) {
        bool is_escape = pattern.data[i] == '\\' && i + 1 < pattern.size;
        uint8_t c = pattern.data[i + is_escape];
        if ((is_escape && is_alnum(c)) || (!is_escape && has_meaning(c))) {
            break;
        }
        trial->prefix[trial->prefix_size++] = c;
        i += 1u + is_escape;
    }
}

/* True if the search exceeds its limits for: the prefix, ${size} bytes of ${a} and ${b} in turn,
 * ${end}. */
static bool is_slow(struct trial *trial, size_t size, uint8_t a, uint8_t b, struct span end)
{
    uint8_t *run = trial->text + trial->prefix_size;
    memcpy(trial->text, trial->prefix, trial->prefix_size);
    for (size_t i = 0; i < size; i++) {
        run[i] = i % 2 ? b : a;
    }
    memcpy(run + size, end.data, end.size);
    struct filter_scratch *scratch = trial->scratch;
    scratch->given_up_before = scratch->given_up;
    filter_regex_finds(
        scratch, trial->literal, span_make(trial->text, trial->prefix_size + size + end.size));
    return scratch->given_up != scratch->given_up_before;
}

static bool try_run(struct trial *trial, uint8_t a, uint8_t b, char text[64])
{
    static const uint16_t sizes[] = {40, 1000, MAX_RUN_BYTES};
    uint8_t all[MAX_END_BYTES] = {'!'};
    memcpy(all + 1, trial->characters, trial->count);
    const struct span ends[] = {span_text("!"), span_text("\n"), span_make(all, 1 + trial->count)};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
            if (is_slow(trial, sizes[i], a, b, ends[k])) {
                char second[4] = {a == b ? 0 : (char)b};
                snprintf(text, 64, "%s%u characters `%c%s`",
                    trial->prefix_size ? "its start and " : "", sizes[i], a, second);
                return true;
            }
        }
    }
    return false;
}

static bool try_all(struct trial *trial, char text[64])
{
    for (size_t i = 0; i < trial->count; i++) {
        uint8_t c = trial->characters[i];
        if (try_run(trial, c, c, text) ||
            (i + 1 < trial->count && try_run(trial, c, trial->characters[i + 1], text))) {
            return true;
        }
    }
    return false;
}

static void try_op(
    struct trial *trial, size_t rule, const struct filter_op *op, filter_slow_fn *each, void *self)
{
    for (uint32_t i = 0; i < op->literal_count; i++) {
        const struct filter_literal *literal = &op->literals[i];
        struct filter_slow slow = {
            .place = {.rule = rule, .offset = literal->offset}, .pattern = literal->text};
        trial->literal = literal;
        gather_characters(trial, literal->text);
        gather_prefix(trial, literal->text);
        bool found = literal->regex && try_all(trial, slow.text);
        trial->prefix_size = 0;
        if (found || (literal->regex && try_all(trial, slow.text))) {
            each(self, &slow);
        }
    }
}

void filter_each_slow(
    const struct filter *filter, struct filter_scratch *scratch, filter_slow_fn *each, void *self)
{
    struct trial trial = {.scratch = scratch};
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        for (uint32_t k = 0; k < code->op_count; k++) {
            if (code->ops[k].test == TEST_MATCHES) {
                try_op(&trial, i, &code->ops[k], each, self);
            }
        }
    }
}
