#include "schema/mof/mof_parse.h"

#include "base/buf.h"
#include "schema/mof/mof_lexer.h"

enum { MAX_TEXT_BYTES = 1024 * 1024, MAX_SHOWN = 100 };

struct parser {
    struct mof_model *model;
    struct mof_file *file;
    struct mof_lexer lexer;
    struct mof_token token; /* next token */
    struct buf joined;      /* adjacent texts, joined */
    bool is_full;           /* no memory, or too many classes */
};

/* Qualifiers, and the position of their list. */
struct qualified {
    struct mof_qualifier *list;
    uint32_t line;
    uint32_t column;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static void advance(struct parser *p)
{
    p->token = mof_lexer_next(&p->lexer);
}

static bool is_mark(const struct parser *p, char mark)
{
    return p->token.kind == MOF_MARK && p->token.text.data[0] == (uint8_t)mark;
}

static bool is_word(const struct parser *p, const char *word)
{
    return p->token.kind == MOF_NAME && span_equal_nocase(p->token.text, span_text(word));
}

static bool take_mark(struct parser *p, char mark)
{
    bool is = is_mark(p, mark);
    if (is) {
        advance(p);
    }
    return is;
}

/* Always returns false. */
static bool fail(struct parser *p, const char *wanted)
{
    const struct mof_token *token = &p->token;
    if (token->kind == MOF_BAD) {
        mof_model_warn(
            p->model, p->file, token->line, token->column, "%.*s", SPAN_ARG(token->text));
    } else if (token->kind == MOF_END) {
        mof_model_warn(p->model, p->file, token->line, token->column,
            "unexpected end of text; expected %s", wanted);
    } else {
        mof_model_warn(p->model, p->file, token->line, token->column, "%s is missing before '%.*s'",
            wanted, SPAN_ARG(span_first(token->text, MAX_SHOWN)));
    }
    return false;
}

static bool expect(struct parser *p, char mark, const char *wanted)
{
    return take_mark(p, mark) || fail(p, wanted);
}

static bool expect_name(struct parser *p, const char *wanted, struct span *ret_name)
{
    *ret_name = p->token.text;
    if (p->token.kind != MOF_NAME) {
        return fail(p, wanted);
    }
    advance(p);
    return true;
}

/* NULL if memory ran out; the parser is then full. */
static void *make(struct parser *p, size_t size)
{
    void *made = arena_alloc(&p->model->arena, size);
    p->is_full = p->is_full || !made;
    return made;
}

/* Skip past ${last} outside all brackets, or to the end of the text. */
static void skip_to(struct parser *p, char last)
{
    size_t depth = 0;
    while (p->token.kind != MOF_END) {
        bool closes = is_mark(p, '}') || is_mark(p, ')') || is_mark(p, ']');
        if (closes && depth > 0) {
            depth--;
        } else if (is_mark(p, last) && depth == 0) {
            advance(p);
            return;
        }
        depth += is_mark(p, '{') || is_mark(p, '(') || is_mark(p, '[');
        advance(p);
    }
}

/* Skip past the end of an unreadable class: `}` followed by `;`. */
static void skip_class(struct parser *p)
{
    bool closed = false;
    while (p->token.kind != MOF_END && !(closed && is_mark(p, ';'))) {
        closed = is_mark(p, '}');
        advance(p);
    }
    take_mark(p, ';');
}

/* ---- qualifiers ------------------------------------------------------------------------------ */

/* Join adjacent texts into one. */
static bool join_texts(struct parser *p, struct span first, struct span *ret_text)
{
    *ret_text = first;
    if (p->token.kind != MOF_TEXT) {
        return true;
    }
    buf_reset(&p->joined);
    buf_add_span(&p->joined, first);
    while (p->token.kind == MOF_TEXT) {
        buf_add_span(&p->joined, p->token.text);
        advance(p);
    }
    if (p->joined.failed) {
        return fail(p, "a text of at most 1 MB");
    }
    if (!arena_copy(&p->model->arena, buf_span(&p->joined), ret_text)) {
        p->is_full = true;
        return false;
    }
    return true;
}

static bool parse_value(struct parser *p, struct mof_qualifier *qualifier, struct mof_value **last)
{
    enum mof_token_kind kind = p->token.kind;
    struct span text = p->token.text;
    if (kind != MOF_TEXT && kind != MOF_NUMBER && kind != MOF_NAME) {
        return fail(p, "a value");
    }
    advance(p);
    struct mof_value *value = make(p, sizeof(*value));
    if (!value || (kind == MOF_TEXT && !join_texts(p, text, &text))) {
        return false;
    }
    value->text = text;
    if (*last) {
        (*last)->next = value;
    } else {
        qualifier->values = value;
    }
    *last = value;
    qualifier->value_count++;
    return true;
}

static bool parse_values(struct parser *p, struct mof_qualifier *qualifier, char end)
{
    struct mof_value *last = NULL;
    advance(p);
    if (take_mark(p, end)) {
        return true;
    }
    do {
        if (!parse_value(p, qualifier, &last)) {
            return false;
        }
    } while (take_mark(p, ','));
    return expect(p, end, end == ')' ? "')'" : "'}'");
}

static struct mof_qualifier *parse_qualifier(struct parser *p)
{
    struct span name;
    if (!expect_name(p, "the name of a qualifier", &name)) {
        return NULL;
    }
    struct mof_qualifier *qualifier = make(p, sizeof(*qualifier));
    if (!qualifier) {
        return NULL;
    }
    qualifier->name = name;
    bool good = is_mark(p, '(')   ? parse_values(p, qualifier, ')')
                : is_mark(p, '{') ? parse_values(p, qualifier, '}')
                                  : true;
    if (good && take_mark(p, ':')) {
        while (p->token.kind == MOF_NAME) { /* flavors are ignored */
            advance(p);
        }
    }
    return good ? qualifier : NULL;
}

/* Parse `[…]` if present. Of several qualifiers with one name the first counts. */
static bool parse_qualifiers(struct parser *p, struct qualified *ret_qualified)
{
    struct mof_qualifier *last = NULL;
    size_t count = 0;
    *ret_qualified = (struct qualified){.line = p->token.line, .column = p->token.column};
    if (!take_mark(p, '[')) {
        return true;
    }
    do {
        struct mof_qualifier *qualifier = parse_qualifier(p);
        if (!qualifier) {
            return false;
        }
        if (++count > MOF_MAX_QUALIFIERS) {
            return fail(p, "']' after 256 qualifiers");
        }
        if (last) {
            last->next = qualifier;
        } else {
            ret_qualified->list = qualifier;
        }
        last = qualifier;
    } while (take_mark(p, ','));
    return expect(p, ']', "',' or ']'");
}

/* ---- properties ------------------------------------------------------------------------------ */

static bool parse_length(struct parser *p, struct mof_property *property)
{
    uint64_t length;
    property->is_array = true;
    if (p->token.kind == MOF_NUMBER) {
        property->is_bad |= !mof_number(p->token.text, UINT16_MAX, &length);
        property->length = property->is_bad ? 0 : (uint16_t)length;
        advance(p);
    }
    return expect(p, ']', "']'");
}

/* Parse what follows the type: `name;`, `name[n] = value;`, `ref name;`, `name(…);`. */
static bool parse_rest(struct parser *p, struct mof_property *property, bool *ret_is_method)
{
    property->is_bad = is_word(p, "ref");
    if (property->is_bad) {
        advance(p);
    }
    if (take_mark(p, ':')) { /* object:Class */
        struct span class;
        if (!expect_name(p, "the name of a class", &class)) {
            return false;
        }
    }
    property->line = p->token.line;
    property->column = p->token.column;
    if (!expect_name(p, "the name of a property", &property->name)) {
        return false;
    }
    *ret_is_method = take_mark(p, '(');
    if (*ret_is_method) {
        skip_to(p, ')');
    } else if (take_mark(p, '[') && !parse_length(p, property)) {
        return false;
    } else if (is_mark(p, '=')) {
        skip_to(p, ';');
        return true;
    }
    return expect(p, ';', "';'");
}

/* Recover when the end of a class body is missing: the qualifiers belong to the next class. */
static bool fail_open_class(struct parser *p, const struct mof_class *class)
{
    mof_model_warn(p->model, p->file, p->token.line, p->token.column,
        "'}' is missing: class %.*s, which begins in line %u, has no end",
        SPAN_ARG(span_first(class->name, MAX_SHOWN)), class->line);
    return false;
}

/* ${stray} receives qualifiers that belong to another class. */
static bool parse_property(
    struct parser *p, struct mof_class *class, struct mof_property **last, struct qualified *stray)
{
    bool is_method = false;
    struct qualified qualified;
    if (!parse_qualifiers(p, &qualified)) {
        return false;
    }
    if (is_word(p, "class")) {
        *stray = qualified;
        return fail_open_class(p, class);
    }
    struct mof_property *property = make(p, sizeof(*property));
    if (!property || !expect_name(p, "the type of a property", &property->type) ||
        !parse_rest(p, property, &is_method)) {
        return false;
    }
    if (is_method) {
        return true;
    }
    if (++class->property_count > MOF_MAX_PROPERTIES) {
        return fail(p, "'}' after 1024 properties");
    }
    property->qualifiers = qualified.list;
    if (*last) {
        (*last)->next = property;
    } else {
        class->properties = property;
    }
    *last = property;
    return true;
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool parse_head(struct parser *p, struct mof_class *class)
{
    advance(p); /* class */
    if (!expect_name(p, "the name of a class", &class->name)) {
        return false;
    }
    if (is_word(p, "as")) {
        advance(p);
        struct span alias;
        if (!expect_name(p, "an alias", &alias)) {
            return false;
        }
    }
    return !take_mark(p, ':') || expect_name(p, "the name of a parent", &class->parent);
}

/* Parse at `class`, after ${qualified}. If another class begins inside, ${qualified} becomes that
 * of the other class. */
static bool parse_class(struct parser *p, struct qualified *qualified)
{
    struct mof_class *class = make(p, sizeof(*class));
    struct mof_property *last = NULL;
    p->file->is_mof = true;
    if (!class) {
        return false;
    }
    *class = (struct mof_class){.file = p->file,
        .qualifiers = qualified->list,
        .line = p->token.line,
        .column = p->token.column,
        .is_local = mof_qualifier_find(qualified->list, "Amendment") != NULL};
    *qualified = (struct qualified){0};
    if (!parse_head(p, class)) {
        return false;
    }
    if (take_mark(p, '{')) {
        while (!is_mark(p, '}')) {
            if (!parse_property(p, class, &last, qualified)) {
                return false;
            }
        }
        advance(p);
    }
    if (!is_word(p, "class") && !is_mark(p, '[') && !expect(p, ';', "';'")) {
        return false;
    }
    if (p->model->class_count == MOF_MAX_CLASSES || !mof_model_add(p->model, class)) {
        p->is_full = true;
        return false;
    }
    return true;
}

/* `#pragma name("…")` */
static void parse_directive(struct parser *p)
{
    advance(p);
    if (is_word(p, "pragma")) {
        p->file->is_mof = true;
        advance(p);
    }
    if (is_word(p, "include")) {
        mof_model_warn(p->model, p->file, p->token.line, p->token.column,
            "included files are not read; add the file to the setting schema");
    }
    advance(p);
    if (take_mark(p, '(')) {
        skip_to(p, ')');
    }
}

static bool is_other_declaration(const struct parser *p)
{
    return is_word(p, "instance") || is_word(p, "qualifier") || is_word(p, "typedef");
}

static void parse_declaration(struct parser *p)
{
    struct qualified qualified = {0};
    if (is_mark(p, '#')) {
        parse_directive(p);
        return;
    }
    if (take_mark(p, ';')) {
        return;
    }
    bool good = parse_qualifiers(p, &qualified);
    while (good && is_word(p, "class")) {
        good = parse_class(p, &qualified);
        if (good) {
            return;
        }
        good = is_word(p, "class") && !p->is_full; /* it began inside the previous class */
    }
    if (good && is_other_declaration(p)) {
        p->file->is_mof = true;
        skip_to(p, ';');
        return;
    }
    if (good) {
        fail(p, "'class'");
        skip_to(p, ';');
    } else {
        skip_class(p);
    }
}

bool mof_parse(struct mof_model *model, struct span text, const char *name, struct error *err)
{
    struct span copy;
    struct parser parser = {
        .model = model, .file = arena_alloc(&model->arena, sizeof(*parser.file))};
    bool kept = parser.file && arena_copy(&model->arena, span_text(name), &copy);
    if (kept) {
        parser.file->name = (const char *)copy.data;
    }
    if (!kept || !mof_model_add_file(model, parser.file)) {
        return error_set(err, ERR_MEMORY, "no memory left for MOF classes");
    }
    buf_init(&parser.joined, MAX_TEXT_BYTES);
    mof_lexer_init(&parser.lexer, text, &model->arena);
    advance(&parser);
    while (parser.token.kind != MOF_END && !parser.is_full) {
        parse_declaration(&parser);
    }
    buf_fini(&parser.joined);
    if (!parser.file->is_mof && parser.file->told == 0) {
        mof_model_warn(model, parser.file, 0, 0, "not MOF text: it contains no class");
    }
    if (parser.is_full) {
        return error_set(err, ERR_LIMIT,
            "too many MOF classes (limit %d) or no memory; the rest is ignored. name fewer "
            "files",
            MOF_MAX_CLASSES);
    }
    return true;
}
