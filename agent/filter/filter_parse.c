#include "filter/filter_emit.h"
#include "filter/filter_hint.h"
#include "filter/filter_lex.h"
#include "filter/filter_program.h"

/*
 * Recursive-descent parser with one token of look-ahead; builds the tree of filter_emit.h. Stops at
 * the first error, with its offset.
 */

struct parser {
    struct filter *filter;
    struct span text;
    struct filter_token token; /* next token */
    size_t error_offset;
    unsigned depth;
    uint32_t test_count;
    uint32_t literal_count;
    struct error *err;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool fail_at(struct parser *p, size_t offset)
{
    p->error_offset = offset;
    return false;
}

#define FAIL(p, offset, ...) (error_set((p)->err, ERR_CONFIG, __VA_ARGS__), fail_at((p), (offset)))

static bool fail_memory(struct parser *p)
{
    error_set(p->err, ERR_MEMORY, "no memory left for filters");
    return fail_at(p, p->token.offset);
}

static bool advance(struct parser *p)
{
    size_t next = p->token.offset + p->token.written.size;
    return filter_lex_next(p->text, next, &p->filter->arena, &p->token, p->err) ||
           fail_at(p, p->token.offset);
}

static bool at_word(const struct parser *p, const char *word)
{
    return p->token.type == TOKEN_WORD && span_equal_nocase(p->token.written, span_text(word));
}

/* True if the previous text ends directly before this word, so its end was probably not
 * intended. */
static bool is_behind_quote(const struct parser *p)
{
    size_t at = p->token.offset;
    return p->token.type == TOKEN_WORD && at > 1 &&
           (p->text.data[at - 1] == '\'' || p->text.data[at - 1] == '"');
}

static bool fail_expected(struct parser *p, const char *what)
{
    if (is_behind_quote(p)) {
        return FAIL(p, p->token.offset - 1, "write a quote inside a text twice: 'it''s'");
    }
    struct span found = span_first(p->token.written, 40);
    return p->token.type == TOKEN_END
               ? FAIL(p, p->token.offset, "unexpected end of the expression; expected %s", what)
               : FAIL(p, p->token.offset, "expected %s, not %.*s", what, SPAN_ARG(found));
}

static bool expect(struct parser *p, enum filter_token_type type, const char *what)
{
    return p->token.type == type ? advance(p) : fail_expected(p, what);
}

static bool new_node(struct parser *p, enum filter_node_type type, struct filter_node **ret_node)
{
    struct filter_node *node = arena_alloc(&p->filter->arena, sizeof(*node));
    if (!node) {
        return fail_memory(p);
    }
    node->type = type;
    *ret_node = node;
    return true;
}

/* ---- literals -------------------------------------------------------------------------------- */

struct literal_list {
    struct filter_literal literal;
    struct literal_list *next;
};

/* Report a word that is not a value: a name instead of a number, or a text without quotes. */
static bool fail_word(struct parser *p, const struct filter_op *op)
{
    struct span word = p->token.written;
    bool is_number = op->path.type == EVENT_VALUE_UINT || op->path.type == EVENT_VALUE_HEX;
    if (is_number && op->test != TEST_HAS) {
        filter_literal_no_number(op->path_text, word, p->err);
        return fail_at(p, p->token.offset);
    }
    return filter_hint_value(word, op->path_text, p->err) || fail_at(p, p->token.offset);
}

/* Parse a word as literal: true, false, a level, or a text without quotes. */
static bool parse_word_literal(
    struct parser *p, const struct filter_op *op, struct filter_literal *literal)
{
    struct span word = p->token.written;
    if (at_word(p, "true") || at_word(p, "false")) {
        literal->type = LITERAL_BOOL;
        literal->truth = at_word(p, "true");
        return advance(p);
    }
    uint8_t level = filter_literal_level(word);
    if (!level || !span_is(op->path_text, "event.level")) {
        return fail_word(p, op);
    }
    if (op->test != TEST_EQUAL && op->test != TEST_UNEQUAL && op->test != TEST_IN) {
        return FAIL(p, p->token.offset,
            "names of levels are only allowed after ==, != and in, because a higher number is less "
            "severe. write a number, or event.level in (critical, error)");
    }
    literal->type = LITERAL_NUMBER;
    literal->low.size = level;
    return advance(p);
}

static bool parse_number(struct parser *p, struct filter_number *number)
{
    bool negative = p->token.type == TOKEN_MINUS;
    if (negative && !advance(p)) {
        return false;
    }
    if (p->token.type != TOKEN_NUMBER) {
        return fail_expected(p, "a number");
    }
    if (!filter_number_parse(p->token.written, number) ||
        (negative && !number->is_real && number->size > (uint64_t)INT64_MAX + 1)) {
        return filter_hint_number(p->token.written, p->err) || fail_at(p, p->token.offset);
    }
    if (negative) {
        number->negative = !number->is_real && number->size;
        number->real = -number->real;
    }
    return advance(p);
}

static bool parse_number_literal(
    struct parser *p, const struct filter_op *op, struct filter_literal *literal)
{
    literal->type = LITERAL_NUMBER;
    if (!parse_number(p, &literal->low)) {
        return false;
    }
    if (p->token.type != TOKEN_MINUS) {
        return true;
    }
    if (op->test != TEST_IN && op->path.type == EVENT_VALUE_TIME) {
        return FAIL(p, literal->offset, "write times in quotes, as in '2026-11-21T09:30:00Z'");
    }
    if (op->test != TEST_IN) {
        return FAIL(p, p->token.offset, "write ranges in lists: in (10-20)");
    }
    literal->type = LITERAL_RANGE;
    if (!advance(p) || !parse_number(p, &literal->high)) {
        return false;
    }
    return filter_number_compare(&literal->low, &literal->high) <= 0 ||
           FAIL(p, literal->offset,
               "this range is empty: its first number is greater than its second");
}

/* Parse one literal with its type; it is prepared later. */
static bool parse_literal(
    struct parser *p, const struct filter_op *op, struct filter_literal *literal)
{
    const struct filter_token token = p->token;
    *literal = (struct filter_literal){.offset = token.offset};
    bool ok;
    switch (token.type) {
    case TOKEN_TEXT:
        literal->type = LITERAL_TEXT;
        literal->text = token.text;
        literal->exact = token.exact;
        ok = advance(p);
        break;
    case TOKEN_WORD:
        ok = parse_word_literal(p, op, literal);
        break;
    case TOKEN_NUMBER:
    case TOKEN_MINUS:
        ok = parse_number_literal(p, op, literal);
        break;
    default:
        return fail_expected(p, "a value");
    }
    if (!ok) {
        return false;
    }
    if (++p->literal_count > FILTER_MAX_LITERALS) {
        return FAIL(p, token.offset, "more than %d values in one expression", FILTER_MAX_LITERALS);
    }
    literal->written = span_first(span_from(p->text, token.offset), p->token.offset - token.offset);
    size_t at = SIZE_MAX;
    if (!filter_literal_prepare(p->filter, literal, (enum filter_test)op->test, &op->path,
            op->path_text, &at, p->err)) {
        return fail_at(p, at == SIZE_MAX ? token.offset : filter_lex_place(&token, at));
    }
    return true;
}

/* Parse literals separated by commas up to and including `)`. */
static bool parse_list(struct parser *p, struct filter_op *op)
{
    struct literal_list *first = NULL;
    struct literal_list **tail = &first;
    uint32_t count = 0;
    bool ok = true;
    do {
        struct literal_list *item = arena_alloc(&p->filter->arena, sizeof(*item));
        ok = item ? (count == 0 || advance(p)) && parse_literal(p, op, &item->literal)
                  : fail_memory(p);
        if (ok) {
            *tail = item;
            tail = &item->next;
            count++;
        }
    } while (ok && p->token.type == TOKEN_COMMA);
    struct filter_literal *array = ok ? arena_alloc_array(&p->filter->arena, count, sizeof(*array))
                                      : NULL;
    if (!ok || !(array || fail_memory(p)) || !expect(p, TOKEN_RIGHT, ") or a comma")) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++, first = first->next) {
        array[i] = first->literal;
    }
    if (op->test == TEST_IN) {
        op->sorted_count = filter_literal_sort(array, count);
    }
    op->literals = array;
    op->literal_count = count;
    return true;
}

static bool parse_one(struct parser *p, struct filter_op *op)
{
    struct filter_literal *literal = arena_alloc(&p->filter->arena, sizeof(*literal));
    if (!literal) {
        return fail_memory(p);
    }
    op->literals = literal;
    op->literal_count = 1;
    return parse_literal(p, op, literal);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum filter_test test;
} words[] = {{"in", TEST_IN}, {"contains", TEST_CONTAINS}, {"startswith", TEST_STARTS},
    {"endswith", TEST_ENDS}, {"like", TEST_LIKE}, {"matches", TEST_MATCHES}, {"has", TEST_HAS}};

static bool parse_operator(struct parser *p, struct filter_op *op)
{
    if (p->token.type >= TOKEN_EQUAL) {
        op->test = (uint8_t)(TEST_EQUAL + (p->token.type - TOKEN_EQUAL));
        return advance(p);
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (at_word(p, words[i].word)) {
            op->test = (uint8_t)words[i].test;
            return advance(p);
        }
    }
    if (at_word(p, "not")) {
        struct span path = span_first(op->path_text, 60);
        return FAIL(p, p->token.offset, "write not first: not %.*s in (…)", SPAN_ARG(path));
    }
    if (p->token.type == TOKEN_WORD) {
        return filter_hint_operator(p->token.written, p->err) || fail_at(p, p->token.offset);
    }
    return fail_expected(p, "an operator (== != < <= > >= in contains startswith endswith like "
                            "matches has)");
}

/* True if a parenthesis follows, which is never so after a field. */
static bool is_called(const struct parser *p)
{
    struct span rest = span_from(p->text, p->token.offset + p->token.written.size);
    size_t at = 0;
    while (at < rest.size && rest.data[at] == ' ') {
        at++;
    }
    return at < rest.size && rest.data[at] == '(';
}

/* Parse the path of the tested field. */
static bool parse_path(struct parser *p, struct filter_op *op)
{
    if (p->token.type != TOKEN_WORD) {
        return fail_expected(p, "a field");
    }
    op->path_text = p->token.written;
    op->offset = p->token.offset;
    if (is_called(p)) {
        return filter_hint_function(op->path_text, p->err) || fail_at(p, op->offset);
    }
    if (!event_path_compile(op->path_text, &op->path, p->err)) {
        return fail_at(p, op->offset);
    }
    op->need = op->path.need;
    op->scope = (uint8_t)event_path_scope(&op->path);
    return advance(p);
}

/* If the field is a list, test any element; EXISTS and HAS test the list itself. */
static bool adjust_path(struct parser *p, struct filter_op *op)
{
    if (op->test == TEST_EXISTS) {
        return true;
    }
    if (op->path.type == EVENT_VALUE_OBJECT) {
        struct span path = span_first(op->path_text, 60);
        return FAIL(p, op->offset, "%.*s holds other fields. name one of them, or ask exists(%.*s)",
            SPAN_ARG(path), SPAN_ARG(path));
    }
    if (op->test == TEST_HAS) {
        op->has_names = event_path_names(&op->path, &op->names);
        op->need = op->has_names && op->names.need > op->need ? op->names.need : op->need;
    } else {
        op->path.each = true;
    }
    return true;
}

static bool parse_comparison(struct parser *p, struct filter_op *op)
{
    if (!parse_path(p, op) || !parse_operator(p, op) || !adjust_path(p, op)) {
        return false;
    }
    bool list = p->token.type == TOKEN_LEFT && op->test >= TEST_IN;
    if (op->test == TEST_IN && !list) {
        return fail_expected(p, "( and a list of values");
    }
    if (p->token.type == TOKEN_LEFT && !list) {
        return FAIL(p, p->token.offset, "expected one value. for any of several write in (…)");
    }
    bool ok = list ? advance(p) && parse_list(p, op) : parse_one(p, op);
    return ok && (filter_ranges_make(p->filter, op) || fail_memory(p));
}

/* Parse exists(FIELD) or cidr(FIELD, 'NETWORK', …). */
static bool parse_function(struct parser *p, struct filter_op *op, enum filter_test test)
{
    const char *name = test == TEST_CIDR ? "cidr" : "exists";
    op->test = (uint8_t)test;
    if (!advance(p)) {
        return false;
    }
    if (p->token.type != TOKEN_LEFT) {
        return FAIL(p, p->token.offset, "expected ( after %s: %s(%s)", name, name,
            test == TEST_CIDR ? "FIELD, '10.0.0.0/8'" : "FIELD");
    }
    if (!advance(p) || !parse_path(p, op) || !adjust_path(p, op)) {
        return false;
    }
    return test == TEST_CIDR ? expect(p, TOKEN_COMMA, "a comma and a network") && parse_list(p, op)
                             : expect(p, TOKEN_RIGHT, ")");
}

static bool parse_test(struct parser *p, struct filter_node **ret_node)
{
    if (++p->test_count > FILTER_MAX_TESTS) {
        return FAIL(p, p->token.offset, "more than %d tests in one expression", FILTER_MAX_TESTS);
    }
    struct filter_op *op = arena_alloc(&p->filter->arena, sizeof(*op));
    if (!op) {
        return fail_memory(p);
    }
    bool ok = at_word(p, "exists") ? parse_function(p, op, TEST_EXISTS)
              : at_word(p, "cidr") ? parse_function(p, op, TEST_CIDR)
                                   : parse_comparison(p, op);
    if (!ok || !new_node(p, FILTER_NODE_TEST, ret_node)) {
        return false;
    }
    (*ret_node)->op = op;
    return true;
}

/* ---- and, or, not, parentheses --------------------------------------------------------------- */

static bool parse_any(struct parser *p, struct filter_node **ret_node);

static bool parse_parentheses(struct parser *p, struct filter_node **ret_node)
{
    return advance(p) && parse_any(p, ret_node) && expect(p, TOKEN_RIGHT, "and, or or )");
}

static bool parse_single(struct parser *p, struct filter_node **ret_node);

static bool parse_not(struct parser *p, struct filter_node **ret_node)
{
    struct filter_node *node;
    if (!new_node(p, FILTER_NODE_NOT, &node) || !advance(p) || !parse_single(p, &node->last)) {
        return false;
    }
    *ret_node = node;
    return true;
}

static bool parse_single(struct parser *p, struct filter_node **ret_node)
{
    if (p->depth == FILTER_MAX_DEPTH) {
        return FAIL(p, p->token.offset, "nested more than %d deep", FILTER_MAX_DEPTH);
    }
    p->depth++;
    bool ok;
    if (p->token.type == TOKEN_LEFT) {
        ok = parse_parentheses(p, ret_node);
    } else if (at_word(p, "not")) {
        ok = parse_not(p, ret_node);
    } else if (at_word(p, "true")) {
        ok = new_node(p, FILTER_NODE_TRUE, ret_node) && advance(p);
    } else if (at_word(p, "false")) {
        ok = FAIL(p, p->token.offset, "only true can stand alone. write not true");
    } else if (p->token.type == TOKEN_WORD && !at_word(p, "and") && !at_word(p, "or")) {
        ok = parse_test(p, ret_node);
    } else if (p->token.type == TOKEN_TEXT || p->token.type == TOKEN_NUMBER) {
        struct span shown = span_first(p->token.written, 40);
        ok = FAIL(p, p->token.offset, "the field must come before the value: FIELD == %.*s",
            SPAN_ARG(shown));
    } else {
        ok = fail_expected(p, "a field, not or (");
    }
    p->depth--;
    return ok;
}

static void add_child(struct filter_node *node, struct filter_node *child)
{
    child->before = node->last;
    node->last = child;
}

static bool parse_row(struct parser *p, enum filter_node_type type, const char *word,
    bool (*parse)(struct parser *p, struct filter_node **ret_node), struct filter_node **ret_node)
{
    struct filter_node *row = NULL;
    struct filter_node *child;
    if (!parse(p, &child)) {
        return false;
    }
    if (!at_word(p, word)) {
        *ret_node = child;
        return true;
    }
    if (!new_node(p, type, &row)) {
        return false;
    }
    add_child(row, child);
    while (at_word(p, word)) {
        if (!advance(p) || !parse(p, &child)) {
            return false;
        }
        add_child(row, child);
    }
    *ret_node = row;
    return true;
}

static bool parse_all(struct parser *p, struct filter_node **ret_node)
{
    return parse_row(p, FILTER_NODE_AND, "and", parse_single, ret_node);
}

static bool parse_any(struct parser *p, struct filter_node **ret_node)
{
    return parse_row(p, FILTER_NODE_OR, "or", parse_all, ret_node);
}

bool filter_parse(struct filter *filter, struct span text, struct filter_code *code,
    size_t *ret_offset, struct error *err)
{
    struct parser p = {.filter = filter, .text = text, .err = err};
    struct filter_node *root = NULL;
    bool ok = filter_lex_next(text, 0, &filter->arena, &p.token, err) ||
              fail_at(&p, p.token.offset);
    ok = ok && parse_any(&p, &root);
    if (ok && p.token.type != TOKEN_END) {
        ok = fail_expected(&p, "and, or or the end of the expression");
    }
    struct filter_op *ops = NULL;
    if (ok) {
        ops = arena_alloc_array(&filter->arena, p.test_count, sizeof(*ops));
        ok = ops || fail_memory(&p);
    }
    if (!ok) {
        *ret_offset = p.error_offset;
        return false;
    }
    filter_emit(root, ops, p.test_count, code);
    return true;
}
