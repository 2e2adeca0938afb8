#define _DEFAULT_SOURCE /* timegm */

#include "support/filter_model.h"

#include <arpa/inet.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_VALUES = 64, MAX_TEXT = 1024 };

/* ---- values ---------------------------------------------------------------------------------- */

static size_t gather(const struct json_node *node, const char *path,
    const struct json_node **values, size_t count, size_t max)
{
    if (*path == '\0') {
        if (count < max) {
            values[count++] = node;
        }
        return count;
    }
    if (strncmp(path, "[*]", 3) == 0) {
        const struct json_node *child = node->type == JSON_ARRAY ? node->child : NULL;
        for (; child; child = child->next) {
            count = gather(child, path + 3, values, count, max);
        }
        return count;
    }
    path += *path == '.';
    size_t size = strcspn(path, ".[");
    const struct json_node *child = json_tree_member(node, span_make(path, size));
    return child ? gather(child, path + size, values, count, max) : count;
}

size_t filter_model_values(const struct json_node *event, const char *path,
    const struct json_node **ret_values, size_t max)
{
    return gather(event, path, ret_values, 0, max);
}

static bool is_hex(const struct json_node *value)
{
    if (value->type != JSON_STRING || value->text.size < 3 || value->text.size > 18 ||
        memcmp(value->text.data, "0x", 2) != 0) {
        return false;
    }
    for (size_t i = 2; i < value->text.size; i++) {
        if (!strchr("0123456789abcdef", value->text.data[i])) {
            return false;
        }
    }
    return true;
}

static void copy_text(struct span text, char *out)
{
    size_t size = text.size < MAX_TEXT - 1 ? text.size : MAX_TEXT - 1;
    if (size) {
        memcpy(out, text.data, size);
    }
    out[size] = '\0';
}

static long double parse_number(const char *text)
{
    bool negative = *text == '-';
    text += negative;
    long double number = strncmp(text, "0x", 2) == 0    ? (long double)strtoull(text, NULL, 16)
                         : strpbrk(text, ".eE") != NULL ? (long double)strtod(text, NULL)
                                                        : (long double)strtoull(text, NULL, 10);
    return negative ? -number : number;
}

static bool number_of(const struct json_node *value, long double *number)
{
    char text[MAX_TEXT];
    if (value->type != JSON_NUMBER && !is_hex(value)) {
        return false;
    }
    copy_text(value->text, text);
    *number = parse_number(text);
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Letters that the tests use: ASCII, E acute, Cyrillic Zhe. */
static void fold(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p >= 'A' && *p <= 'Z') {
            *p = (unsigned char)(*p + 32);
        } else if (p[0] == 0xc3 && p[1] == 0x89) {
            p[1] = 0xa9;
        } else if (p[0] == 0xd0 && p[1] == 0x96) {
            p[1] = 0xb6;
        }
    }
}

struct texts {
    char value[MAX_TEXT];
    char literal[MAX_TEXT];
};

static void make_texts(
    const struct json_node *value, const struct model_literal *literal, struct texts *texts)
{
    copy_text(value->text, texts->value);
    snprintf(texts->literal, MAX_TEXT, "%s", literal->text);
    if (!literal->exact) {
        fold(texts->value);
        fold(texts->literal);
    }
}

/* ${form} with digits in place of each d? */
static bool has_form(const char *text, const char *form)
{
    for (; *form; form++, text++) {
        if (*form == 'd' ? !(*text >= '0' && *text <= '9') : *text != *form) {
            return false;
        }
    }
    return true;
}

static int digits(const char *text, int count)
{
    int number = 0;
    while (count-- > 0) {
        number = number * 10 + (*text++ - '0');
    }
    return number;
}

/* Date, time, fraction, zone; without zone only where a value may be. */
static bool parse_time(const char *text, bool needs_zone, long double *ret_ticks)
{
    if (!has_form(text, "dddd-dd-ddTdd:dd:dd")) {
        return false;
    }
    struct tm tm = {.tm_year = digits(text, 4) - 1900,
        .tm_mon = digits(text + 5, 2) - 1,
        .tm_mday = digits(text + 8, 2),
        .tm_hour = digits(text + 11, 2),
        .tm_min = digits(text + 14, 2),
        .tm_sec = digits(text + 17, 2)};
    long long ticks = 0;
    text += 19;
    if (*text == '.' && has_form(text + 1, "d")) {
        int count = 0;
        for (text++; has_form(text, "d"); text++, count++) {
            ticks = count < 7 ? ticks * 10 + digits(text, 1) : ticks;
        }
        for (; count < 7; count++) {
            ticks *= 10;
        }
    }
    int east = 0;
    if (has_form(text, "+dd:dd") && strlen(text) == 6) {
        east = digits(text + 1, 2) * 3600 + digits(text + 4, 2) * 60;
    } else if (strcmp(text, "Z") != 0 && (needs_zone || *text)) {
        return false;
    }
    *ret_ticks = (long double)(timegm(&tm) - east) * 10000000 + (long double)ticks;
    return true;
}

static bool is_guid(const char *text)
{
    if (strlen(text) != 36) {
        return false;
    }
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i])) {
            return false;
        }
    }
    return true;
}

/* Where the two stand to each other: -1, 0, 1, or 2 if they cannot be compared. */
static int order_of(const struct json_node *value, const struct model_literal *literal)
{
    struct texts texts;
    long double a;
    long double b;
    char *end;
    if (literal->type == MODEL_NUMBER) {
        b = parse_number(literal->low);
        return number_of(value, &a) ? (a > b) - (a < b) : 2;
    }
    if (literal->type != MODEL_TEXT || value->type != JSON_STRING) {
        return 2;
    }
    bool digits = literal->text[0] >= '0' && literal->text[0] <= '9';
    unsigned long long number = strtoull(literal->text, &end,
        strncmp(literal->text, "0x", 2) == 0 || strncmp(literal->text, "0X", 2) == 0 ? 16 : 10);
    if (is_hex(value) && digits && *end == '\0' && !literal->exact) {
        number_of(value, &a);
        b = (long double)number;
        return (a > b) - (a < b);
    }
    make_texts(value, literal, &texts);
    char raw[MAX_TEXT];
    copy_text(value->text, raw);
    if (!literal->exact && parse_time(raw, false, &a) && parse_time(literal->text, true, &b)) {
        return (a > b) - (a < b);
    }
    int order = strcmp(texts.value, texts.literal);
    return (order > 0) - (order < 0);
}

static bool equals(const struct json_node *value, const struct model_literal *literal)
{
    long double number;
    switch (literal->type) {
    case MODEL_BOOL:
        return value->type == JSON_BOOL && span_is(value->text, literal->truth ? "true" : "false");
    case MODEL_RANGE:
        return number_of(value, &number) && number >= parse_number(literal->low) &&
               number <= parse_number(literal->high);
    case MODEL_NUMBER:
    case MODEL_TEXT:
        break;
    }
    size_t size = strlen(literal->text);
    if (literal->type == MODEL_TEXT && !literal->exact && size == 38 && literal->text[0] == '{') {
        struct model_literal bare = *literal;
        snprintf(bare.text, sizeof(bare.text), "%.36s", literal->text + 1);
        char raw[MAX_TEXT];
        copy_text(value->text, raw);
        if (value->type == JSON_STRING && is_guid(bare.text) && is_guid(raw)) {
            return order_of(value, &bare) == 0;
        }
    }
    return order_of(value, literal) == 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static size_t character_size(const char *text)
{
    size_t size = 1;
    while (((unsigned char)text[size] & 0xc0) == 0x80) {
        size++;
    }
    return size;
}

static bool like(const char *text, const char *pattern)
{
    if (*pattern == '\0') {
        return *text == '\0';
    }
    if (*pattern == '*') {
        return like(text, pattern + 1) || (*text && like(text + 1, pattern));
    }
    if (*text == '\0') {
        return false;
    }
    if (*pattern == '?') {
        return like(text + character_size(text), pattern + 1);
    }
    return *text == *pattern && like(text + 1, pattern + 1);
}

static bool matches(const char *text, const struct model_literal *literal)
{
    regex_t regex;
    if (regcomp(&regex, literal->text,
            REG_EXTENDED | REG_NOSUB | (literal->exact ? 0 : REG_ICASE)) != 0) {
        return false;
    }
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool searches(
    const struct json_node *value, enum model_test test, const struct model_literal *literal)
{
    struct texts texts;
    if (value->type != JSON_STRING) {
        return false;
    }
    make_texts(value, literal, &texts);
    size_t size = strlen(texts.value);
    size_t part = strlen(texts.literal);
    switch (test) {
    case MODEL_CONTAINS:
        return strstr(texts.value, texts.literal) != NULL;
    case MODEL_STARTS:
        return strncmp(texts.value, texts.literal, part) == 0;
    case MODEL_ENDS:
        return size >= part && strcmp(texts.value + size - part, texts.literal) == 0;
    case MODEL_LIKE:
        return like(texts.value, texts.literal);
    default:
        copy_text(value->text, texts.value);
        return matches(texts.value, literal);
    }
}

static bool in_network(const struct json_node *value, const struct model_literal *literal)
{
    char text[MAX_TEXT];
    char network[MODEL_TEXT_SIZE];
    unsigned char a[16];
    unsigned char n[16];
    if (value->type == JSON_OBJECT) {
        value = json_tree_member(value, span_text("address")); /* of a socket */
        if (!value) {
            return false;
        }
    }
    if (value->type != JSON_STRING) {
        return false;
    }
    copy_text(value->text, text);
    snprintf(network, sizeof(network), "%s", literal->text);
    char *slash = strchr(network, '/');
    int bits = slash ? (int)strtol(slash + 1, NULL, 10) : -1;
    if (slash) {
        *slash = '\0';
    }
    int family = strchr(network, ':') ? AF_INET6 : AF_INET;
    inet_pton(family, network, n);
    bits = bits < 0 ? (family == AF_INET ? 32 : 128) : bits;
    const char *address = text;
    if (family == AF_INET && strncmp(text, "::ffff:", 7) == 0) {
        address = text + 7; /* mapped */
    }
    if (inet_pton(family, address, a) != 1) {
        return false;
    }
    for (int i = 0; i < bits; i++) {
        if ((a[i / 8] ^ n[i / 8]) >> (7 - i % 8) & 1) {
            return false;
        }
    }
    return true;
}

static bool value_passes(const struct model_node *node, const struct json_node *value)
{
    int order = 0;
    if (node->test <= MODEL_GREATER_EQUAL) {
        const struct model_literal *literal = &node->literals[0];
        order = order_of(value, literal);
        switch (node->test) {
        case MODEL_EQUAL:
            return equals(value, literal);
        case MODEL_UNEQUAL:
            return !equals(value, literal);
        case MODEL_LESS:
            return order == -1;
        case MODEL_LESS_EQUAL:
            return order == -1 || order == 0;
        case MODEL_GREATER:
            return order == 1;
        default:
            return order == 1 || order == 0;
        }
    }
    for (unsigned i = 0; i < node->literal_count; i++) {
        const struct model_literal *literal = &node->literals[i];
        bool passes = node->test == MODEL_IN     ? equals(value, literal)
                      : node->test == MODEL_CIDR ? in_network(value, literal)
                                                 : searches(value, node->test, literal);
        if (passes) {
            return true;
        }
    }
    return false;
}

static bool any_equal(const struct json_node *list, const struct model_literal *literal)
{
    const struct json_node *child = list->type == JSON_ARRAY ? list->child : list;
    for (; child; child = list->type == JSON_ARRAY ? child->next : NULL) {
        if (equals(child, literal)) {
            return true;
        }
    }
    return false;
}

static bool has(const struct model_node *node, const struct json_node *event,
    const struct json_node *value, const struct model_literal *literal)
{
    const struct json_node *names[MAX_VALUES];
    char path[MAX_TEXT];
    long double number;
    if (value->type == JSON_ARRAY) {
        return any_equal(value, literal);
    }
    if (!number_of(value, &number)) {
        return false;
    }
    bool real = value->type == JSON_NUMBER && (memchr(value->text.data, '.', value->text.size) ||
                                                  memchr(value->text.data, 'e', value->text.size));
    if (real) {
        return false;
    }
    if (literal->type == MODEL_NUMBER) {
        long double wanted = parse_number(literal->low);
        uint64_t bits = number < 0 ? (uint64_t)(int64_t)number : (uint64_t)number;
        uint64_t mask = wanted < 0 ? (uint64_t)(int64_t)wanted : (uint64_t)wanted;
        if ((bits & mask) == mask) {
            return true;
        }
    }
    snprintf(path, sizeof(path), "%s_name", node->path);
    size_t count = filter_model_values(event, path, names, MAX_VALUES);
    for (size_t i = 0; i < count; i++) {
        if (any_equal(names[i], literal)) {
            return true;
        }
    }
    return false;
}

static bool test_holds(const struct model_node *node, const struct json_node *event)
{
    const struct json_node *values[MAX_VALUES];
    size_t count = filter_model_values(event, node->path, values, MAX_VALUES);
    if (node->test == MODEL_EXISTS) {
        return count > 0;
    }
    for (size_t i = 0; i < count; i++) {
        const struct json_node *value = values[i];
        if (node->test == MODEL_HAS) {
            for (unsigned k = 0; k < node->literal_count; k++) {
                if (has(node, event, value, &node->literals[k])) {
                    return true;
                }
            }
            continue;
        }
        const struct json_node *child = value->type == JSON_ARRAY ? value->child : value;
        for (; child; child = value->type == JSON_ARRAY ? child->next : NULL) {
            if (value_passes(node, child)) {
                return true;
            }
        }
    }
    return false;
}

bool filter_model_holds(const struct model_node *node, const struct json_node *event)
{
    switch (node->type) {
    case MODEL_NODE_TRUE:
        return true;
    case MODEL_NODE_TEST:
        return test_holds(node, event);
    case MODEL_NODE_NOT:
        return !filter_model_holds(node->children[0], event);
    default:
        for (unsigned i = 0; i < node->child_count; i++) {
            if (filter_model_holds(node->children[i], event) == (node->type == MODEL_NODE_OR)) {
                return node->type == MODEL_NODE_OR;
            }
        }
        return node->type == MODEL_NODE_AND;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_text(const struct model_literal *literal, unsigned style, struct buf *out)
{
    uint8_t quote = style & 1 ? '"' : '\'';
    buf_add_byte(out, quote);
    for (const char *p = literal->text; *p; p++) {
        buf_add_byte(out, (uint8_t)*p);
        if ((uint8_t)*p == quote) {
            buf_add_byte(out, quote);
        }
    }
    buf_add_byte(out, quote);
    buf_add_text(out, literal->exact ? "c" : "");
}

static void write_literal(const struct model_literal *literal, unsigned style, struct buf *out)
{
    switch (literal->type) {
    case MODEL_TEXT:
        write_text(literal, style, out);
        break;
    case MODEL_NUMBER:
        buf_add_text(out, literal->low);
        break;
    case MODEL_RANGE:
        buf_printf(out, style & 2 ? "%s - %s" : "%s-%s", literal->low, literal->high);
        break;
    case MODEL_BOOL:
        buf_add_text(out, literal->truth ? "true" : "false");
        break;
    }
}

static void write_literals(const struct model_node *node, unsigned style, struct buf *out)
{
    for (unsigned i = 0; i < node->literal_count; i++) {
        buf_add_text(out, i ? style & 2 ? " , " : "," : "");
        write_literal(&node->literals[i], style >> i, out);
    }
}

static void write_test(const struct model_node *node, unsigned style, struct buf *out)
{
    static const char *const words[2][MODEL_HAS + 1] = {
        {"==", "!=", "<", "<=", ">", ">=", " in", " contains ", " startswith ", " endswith ",
            " like ", " matches ", " has "},
        {" == ", " != ", " < ", " <= ", " > ", " >= ", "\tIN ", " Contains ", " STARTSWITH\n",
            " endsWith ", " LIKE ", " Matches ", " HAS "}};
    if (node->test == MODEL_EXISTS) {
        buf_printf(out, style & 4 ? "EXISTS ( %s )" : "exists(%s)", node->path);
        return;
    }
    if (node->test == MODEL_CIDR) {
        buf_printf(out, "cidr(%s, ", node->path);
        write_literals(node, style, out);
        buf_add_text(out, ")");
        return;
    }
    buf_add_text(out, node->path);
    buf_add_text(out, words[style >> 2 & 1][node->test]);
    bool list = node->literal_count > 1 || node->test == MODEL_IN ||
                (node->test > MODEL_IN && (style & 8));
    buf_add_text(out, list ? "(" : "");
    write_literals(node, style, out);
    buf_add_text(out, list ? ")" : "");
}

void filter_model_write(const struct model_node *node, unsigned style, struct buf *out)
{
    switch (node->type) {
    case MODEL_NODE_TRUE:
        buf_add_text(out, "true");
        return;
    case MODEL_NODE_TEST:
        write_test(node, style, out);
        return;
    default:
        break;
    }
    for (unsigned i = 0; i < node->child_count; i++) {
        const struct model_node *child = node->children[i];
        /* not binds before and, and before or; and a row in a row of its kind needs none. */
        bool parentheses = child->type > node->type ||
                           (child->type > MODEL_NODE_TEST && (style >> i & 16));
        if (node->type == MODEL_NODE_NOT) {
            buf_add_text(out, style & 4 ? "NOT " : "not ");
        } else if (i) {
            buf_add_text(out, node->type == MODEL_NODE_AND ? " and " : " or ");
        }
        buf_add_text(out, parentheses ? "(" : "");
        filter_model_write(child, style / 3 + i, out);
        buf_add_text(out, parentheses ? ")" : "");
    }
}
