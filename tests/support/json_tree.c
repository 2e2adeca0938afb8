#include "support/json_tree.h"

#include "base/utf.h"

struct parser {
    const uint8_t *at;
    const uint8_t *end;
    struct arena *arena;
    unsigned depth;
};

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && memchr(" \t\r\n", *p->at, 4)) {
        p->at++;
    }
}

static bool take(struct parser *p, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

static bool parse_four(struct parser *p, uint32_t *ret_unit)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    uint32_t unit = 0;
    for (unsigned i = 0; i < 4; i++) {
        const char *digit = p->at < p->end && *p->at ? strchr(digits, *p->at++) : NULL;
        if (!digit) {
            return false;
        }
        uint32_t value = (uint32_t)(digit - digits);
        unit = unit << 4 | (value > 15 ? value - 6 : value);
    }
    *ret_unit = unit;
    return true;
}

static bool parse_escape(struct parser *p, uint8_t **out)
{
    static const char codes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    uint8_t c = p->at < p->end ? *p->at++ : 0;
    const char *code = c ? strchr(codes, c) : NULL;
    if (code) {
        *(*out)++ = (uint8_t)meanings[code - codes];
        return true;
    }
    uint32_t unit;
    uint32_t low;
    if (c != 'u' || !parse_four(p, &unit)) {
        return false;
    }
    if (unit >= 0xd800 && unit < 0xdc00) {
        if (!take(p, "\\u") || !parse_four(p, &low) || low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    *out += utf8_put(unit, *out);
    return true;
}

static bool parse_string(struct parser *p, struct span *ret_text)
{
    if (!take(p, "\"")) {
        return false;
    }
    const uint8_t *close = p->at;
    while (close < p->end && *close != '"') {
        close += *close == '\\' ? 2 : 1;
    }
    if (close >= p->end) {
        return false;
    }
    uint8_t *start = arena_alloc(p->arena, (size_t)(close - p->at) + 4);
    uint8_t *out = start;
    while (start && p->at < p->end && *p->at != '"') {
        uint8_t c = *p->at++;
        if (c < 0x20 || (c == '\\' && !parse_escape(p, &out))) {
            return false;
        }
        if (c != '\\') {
            *out++ = c;
        }
    }
    *ret_text = span_make(start, (size_t)(out - start));
    return start && take(p, "\"");
}

static bool parse_number(struct parser *p, struct json_node *node)
{
    const uint8_t *start = p->at;
    while (p->at < p->end && *p->at && strchr("+-.0123456789eE", *p->at)) {
        p->at++;
    }
    node->type = JSON_NUMBER;
    return arena_copy(p->arena, span_make(start, (size_t)(p->at - start)), &node->text) &&
           node->text.size > 0 && (*start == '-' || (*start >= '0' && *start <= '9'));
}

static bool parse_value(struct parser *p, struct json_node *node);

static bool parse_children(struct parser *p, struct json_node *node, const char *close)
{
    struct json_node **tail = &node->child;
    skip_blanks(p);
    if (take(p, close)) {
        return true;
    }
    do {
        struct json_node *child = arena_alloc(p->arena, sizeof(*child));
        skip_blanks(p);
        if (!child || (node->type == JSON_OBJECT && !parse_string(p, &child->key))) {
            return false;
        }
        if (node->type == JSON_OBJECT) {
            skip_blanks(p);
            if (json_tree_member(node, child->key) || !take(p, ":")) {
                return false;
            }
        }
        if (!parse_value(p, child)) {
            return false;
        }
        *tail = child;
        tail = &child->next;
        skip_blanks(p);
    } while (take(p, ","));
    return take(p, close);
}

static bool parse_word(struct parser *p, struct json_node *node)
{
    static const char *const words[] = {"null", "true", "false"};
    for (size_t i = 0; i < 3; i++) {
        if (take(p, words[i])) {
            node->type = i ? JSON_BOOL : JSON_NULL;
            node->text = span_text(words[i]);
            return true;
        }
    }
    return parse_number(p, node);
}

static bool parse_value(struct parser *p, struct json_node *node)
{
    enum { MAX_DEPTH = 64 };
    skip_blanks(p);
    if (p->at == p->end || p->depth == MAX_DEPTH) {
        return false;
    }
    if (*p->at == '"') {
        node->type = JSON_STRING;
        return parse_string(p, &node->text);
    }
    if (*p->at != '{' && *p->at != '[') {
        return parse_word(p, node);
    }
    node->type = *p->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    p->depth++;
    bool ok = parse_children(p, node, node->type == JSON_OBJECT ? "}" : "]");
    p->depth--;
    return ok;
}

const struct json_node *json_tree_parse(struct span text, struct arena *arena)
{
    struct parser parser = {.at = text.data, .end = text.data + text.size, .arena = arena};
    struct json_node *root = arena_alloc(arena, sizeof(*root));
    if (!root || !parse_value(&parser, root)) {
        return NULL;
    }
    skip_blanks(&parser);
    return parser.at == parser.end ? root : NULL;
}

const struct json_node *json_tree_member(const struct json_node *object, struct span key)
{
    const struct json_node *child = object->type == JSON_OBJECT ? object->child : NULL;
    while (child && !span_equal(child->key, key)) {
        child = child->next;
    }
    return child;
}
