#include "schema/tmf.h"

#include <stdio.h>

/*
 * A line is looked at for what it can be in this place: a GUID and module, a message, or, between
 * braces, an argument. Messages are handed over when they are complete, so a sink sees each of them
 * once and whole.
 */

/* ---- text --------------------------------------------------------------------------------------- */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool starts_with(struct span text, const char *start)
{
    size_t size = strlen(start);
    return text.size >= size && memcmp(text.data, start, size) == 0;
}

/* Where ${needle} stands in ${text}, or SIZE_MAX. */
static size_t find(struct span text, const char *needle)
{
    size_t size = strlen(needle);
    for (size_t at = 0; at + size <= text.size; at++) {
        const uint8_t *first = memchr(text.data + at, needle[0], text.size - size - at + 1);
        if (!first) {
            return SIZE_MAX;
        }
        at = (size_t)(first - text.data);
        if (memcmp(first, needle, size) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* Cut at the last word, which is given back. */
static struct span take_last_word(struct span *text)
{
    *text = span_trim(*text);
    size_t start = text->size;
    while (start && !span_is_blank(text->data[start - 1])) {
        start--;
    }
    struct span word = span_from(*text, start);
    *text = span_trim(span_first(*text, start));
    return word;
}

static bool parse_number(struct span digits, uint32_t max, uint32_t *ret_number)
{
    uint32_t number = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (!is_digit(digits.data[i])) {
            return false;
        }
        uint32_t digit = digits.data[i] - (uint32_t)'0';
        if (number > (max - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return digits.size > 0;
}

/* ---- what is told --------------------------------------------------------------------------------- */

static void warn_at(struct tmf_reader *reader, size_t line, const char *what)
{
    const struct tmf_sink *sink = reader->sink;
    if (sink->warn && reader->warnings < TMF_MAX_WARNINGS) {
        char text[1200];
        snprintf(text, sizeof(text), "%s:%zu: %s", reader->origin, line, what);
        sink->warn(sink->self, text);
    }
    reader->warnings++;
}

static void warn(struct tmf_reader *reader, const char *what)
{
    warn_at(reader, reader->line, what);
}

/* The message is complete. */
static void finish_message(struct tmf_reader *reader)
{
    struct tmf_message *message = &reader->message;
    if (!reader->has_message) {
        return;
    }
    if (reader->is_open) {
        warn_at(reader, message->text_line, "the arguments of this message have no }");
        message->is_cut = true;
    }
    reader->has_message = false;
    reader->is_open = false;
    size_t count = message->argument_count;
    struct tmf_argument *arguments = arena_alloc_array(reader->arena, count, sizeof(*arguments));
    struct tmf_message *kept = arena_alloc(reader->arena, sizeof(*kept));
    if (!arguments || !kept) {
        reader->failed = true;
        return;
    }
    if (count) {
        memcpy(arguments, reader->arguments, count * sizeof(*arguments));
    }
    *kept = *message;
    kept->arguments = arguments;
    reader->failed = !reader->sink->message(reader->sink->self, kept);
}

/* ---- `guid module // SRC=file MJ= MN=` ---------------------------------------------------------- */

/* The value behind `KEY=`, up to a blank. */
static struct span value_of(struct span text, const char *key)
{
    size_t at = find(text, key);
    if (at == SIZE_MAX) {
        return span_make(NULL, 0);
    }
    struct span value = span_from(text, at + strlen(key));
    size_t size = 0;
    while (size < value.size && !span_is_blank(value.data[size])) {
        size++;
    }
    return span_first(value, size);
}

/* The end of the GUID's line: up to ` MJ=`, since names of files may have blanks in them. */
static struct span source_of(struct span comment)
{
    size_t at = find(comment, "SRC=");
    if (at == SIZE_MAX) {
        return span_make(NULL, 0);
    }
    struct span value = span_from(comment, at + 4);
    size_t end = find(value, " MJ=");
    return span_trim(end == SIZE_MAX ? value_of(comment, "SRC=") : span_first(value, end));
}

static bool parse_guid_line(struct tmf_reader *reader, struct span line)
{
    enum { BRACES = 2 };
    size_t size = GUID_TEXT_SIZE + (line.size && line.data[0] == '{' ? BRACES : 0);
    struct guid guid;
    if (line.size < size || !guid_parse(span_first(line, size), &guid) ||
        (line.size > size && !span_is_blank(line.data[size]))) {
        return false;
    }
    struct span rest = span_from(line, size);
    size_t comment = find(rest, "//");
    struct span module = span_trim(comment == SIZE_MAX ? rest : span_first(rest, comment));
    struct span words = module;
    take_last_word(&words);
    if (module.size == 0 || (comment == SIZE_MAX && words.size)) {
        return false; /* text that begins with a GUID */
    }
    reader->guid = guid;
    reader->module = module;
    reader->source = comment == SIZE_MAX ? span_make(NULL, 0) : source_of(span_from(rest, comment));
    reader->has_guid = true;
    return true;
}

/* The same inside of a line of another text: there it needs `// SRC=` to be one. */
static bool find_guid_line(struct tmf_reader *reader, struct span line)
{
    if (parse_guid_line(reader, span_trim(line))) {
        return true;
    }
    size_t comment = find(line, "// SRC=");
    for (size_t at = 1; comment != SIZE_MAX && at + GUID_TEXT_SIZE < comment; at++) {
        /* A dash in its place is cheap to look for. */
        if (line.data[at + 8] == '-' && !is_word(line.data[at - 1]) &&
            parse_guid_line(reader, span_from(line, at))) {
            return true;
        }
    }
    return false;
}

/* ---- `#typev name number "format" // LEVEL=… FLAGS=… FUNC=…` -------------------------------------- */

/* The value of ${key} in a message's comment. It ends where another key begins: functions of C++ have
 * blanks in their names. */
static struct span comment_value(struct span comment, const char *key)
{
    static const char *const keys[] = {
        " LEVEL=", " FLAGS=", " FUNC=", " KEYWORDS=", " COMPNAME=", " SUBCOMP=", " MJ=", " MN="};
    size_t at = find(comment, key);
    if (at == SIZE_MAX) {
        return span_make(NULL, 0);
    }
    struct span value = span_from(comment, at + strlen(key));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t end = find(value, keys[i]);
        value = end == SIZE_MAX ? value : span_first(value, end);
    }
    return span_trim(value);
}

/* The closing quote of a format that begins at ${text}: the first one that no backslash precedes and
 * behind which the comment or nothing follows. SIZE_MAX: there is none. */
static size_t closing_quote(struct span text)
{
    while (text.size && span_is_blank(text.data[text.size - 1])) {
        text.size--; /* once, and not at each quote */
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\\') {
            i++;
        } else if (text.data[i] == '"') {
            size_t next = i + 1;
            while (next < text.size && span_is_blank(text.data[next])) {
                next++;
            }
            if (next == text.size || starts_with(span_from(text, next), "//")) {
                return i;
            }
            i = next - 1;
        }
    }
    return SIZE_MAX;
}

/* `main_c31`: the file's name with an underscore for its last dot, and the line. */
static void parse_name(struct tmf_message *message)
{
    size_t end = message->name.size;
    size_t digits = end;
    while (digits && is_digit(message->name.data[digits - 1])) {
        digits--;
    }
    uint32_t line;
    if (parse_number(span_from(message->name, digits), UINT32_MAX, &line)) {
        message->line = line;
    }
}

static bool parse_message(struct tmf_reader *reader, struct span text)
{
    struct tmf_message *message = &reader->message;
    const uint8_t *quote = text.size ? memchr(text.data, '"', text.size) : NULL;
    if (!quote) {
        warn(reader, "a message without a format in quotes: skipped");
        return false;
    }
    size_t start = (size_t)(quote - text.data) + 1;
    struct span format = span_from(text, start);
    size_t end = closing_quote(format);
    if (end == SIZE_MAX) {
        warn(reader, "the format of a message has no end: skipped");
        return false;
    }
    struct span head = span_first(text, start - 1);
    uint32_t number;
    if (!parse_number(take_last_word(&head), UINT16_MAX, &number) || head.size == 0) {
        warn(reader, "a message without a name and a number below 65536: skipped");
        return false;
    }
    if (!reader->has_guid) {
        warn(reader, "a message without a line with its GUID before it: skipped");
        return false;
    }
    struct span comment = span_from(format, end + 1);
    *message = (struct tmf_message){.guid = reader->guid,
        .number = (uint16_t)number,
        .text_line = reader->line,
        .module = reader->module,
        .source = reader->source,
        .name = head,
        .format = span_first(format, end),
        .level = comment_value(comment, " LEVEL="),
        .flags = comment_value(comment, " FLAGS="),
        .function = comment_value(comment, " FUNC=")};
    if (message->function.size == 0) {
        message->function = reader->function;
    }
    parse_name(message);
    return true;
}

/* Where `#typev` or `#type` stands in the line as a word, or SIZE_MAX. */
static size_t find_type(struct span line, size_t *ret_size)
{
    size_t at = find(line, "#type");
    if (at == SIZE_MAX || (at && is_word(line.data[at - 1]))) {
        return SIZE_MAX;
    }
    size_t size = sizeof("#type") - 1;
    size += at + size < line.size && line.data[at + size] == 'v';
    *ret_size = size;
    return at + size < line.size && span_is_blank(line.data[at + size]) ? at : SIZE_MAX;
}

/* ---- `expression, ItemType(names) -- number` ------------------------------------------------------- */

/* The type at the end of ${text}, with its names; what stands before its comma goes to ${text}. */
static struct span take_type(struct span *text, struct span *ret_names)
{
    size_t at = text->size;
    *ret_names = span_make(NULL, 0);
    if (at && text->data[at - 1] == ')') {
        size_t depth = 0;
        do {
            at--;
            depth += text->data[at] == ')';
            depth -= text->data[at] == '(';
        } while (at && depth);
        if (depth) {
            return span_make(NULL, 0);
        }
        *ret_names = span_trim(span_make(text->data + at + 1, text->size - at - 2));
        while (at && span_is_blank(text->data[at - 1])) {
            at--;
        }
    }
    size_t end = at;
    while (at && is_word(text->data[at - 1])) {
        at--;
    }
    if (at == end) {
        return span_make(NULL, 0);
    }
    struct span type = span_from(*text, at);
    struct span before = span_trim(span_first(*text, at));
    if (before.size == 0 || before.data[before.size - 1] != ',') {
        return span_make(NULL, 0);
    }
    *text = span_trim(span_first(before, before.size - 1));
    return type;
}

/* Behind the last `--`, its number; the one after the last argument where there is none. */
static bool take_number(const struct tmf_reader *reader, struct span *text, uint16_t *ret_number)
{
    size_t count = reader->message.argument_count;
    uint32_t number = count ? reader->arguments[count - 1].number + 1u : TMF_FIRST_ARGUMENT;
    size_t at = text->size;
    while (at && is_digit(text->data[at - 1])) {
        at--;
    }
    struct span before = span_trim(span_first(*text, at));
    if (at < text->size && before.size >= 2 && before.data[before.size - 1] == '-' &&
        before.data[before.size - 2] == '-') {
        if (!parse_number(span_from(*text, at), UINT16_MAX, &number)) {
            return false;
        }
        *text = span_trim(span_first(before, before.size - 2));
    }
    *ret_number = (uint16_t)number;
    return number >= TMF_FIRST_ARGUMENT && number <= UINT16_MAX;
}

static struct span type_name(struct span type)
{
    size_t size = 0;
    while (size < type.size && is_word(type.data[size])) {
        size++;
    }
    return span_first(type, size);
}

/* The lines of the enumeration that the argument's type names. */
static struct span values_of(const struct tmf_reader *reader, const struct tmf_argument *argument)
{
    const struct tmf_item *item = argument->item;
    bool is_enum = item && (item->style == WPP_STYLE_ENUM || item->style == WPP_STYLE_FLAGS);
    const struct tmf_enumeration *found = is_enum && reader->enumerations
                                              ? map_get(reader->enumerations, argument->names)
                                              : NULL;
    return found ? found->values : span_make(NULL, 0);
}

static void add_argument(struct tmf_reader *reader, struct span line)
{
    struct tmf_message *message = &reader->message;
    struct tmf_argument argument;
    struct span text = span_trim(line);
    if (text.size == 0 || starts_with(text, "//") || message->is_cut) {
        return;
    }
    if (message->argument_count == TMF_MAX_ARGUMENTS) {
        message->is_cut = true;
        warn(reader, "more arguments than a message can have: the others are left out");
        return;
    }
    bool has_number = take_number(reader, &text, &argument.number);
    argument.type = take_type(&text, &argument.names);
    argument.expression = text;
    if (!has_number || argument.type.size == 0) {
        message->is_cut = true;
        warn(reader,
            "not an argument (expression, ItemType -- number): the message is decoded up to it");
        return;
    }
    argument.item = tmf_item_find(type_name(argument.type));
    argument.values = values_of(reader, &argument);
    reader->arguments[message->argument_count++] = argument;
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* What stands behind the prefix that the message's own line has. */
static struct span without_prefix(const struct tmf_reader *reader, struct span line)
{
    return line.size > reader->prefix ? span_from(line, reader->prefix) : span_trim(line);
}

/* Is the line nothing but a brace, behind a prefix? One whose size differs from the first line's is
 * told by the blank before the brace. */
static bool is_brace(const struct tmf_reader *reader, struct span line, uint8_t brace)
{
    struct span text = span_trim(without_prefix(reader, line));
    if (text.size == 1 && text.data[0] == brace) {
        return true;
    }
    text = span_trim(line);
    return text.size && text.data[text.size - 1] == brace &&
           (text.size == 1 || (reader->prefix && span_is_blank(text.data[text.size - 2])));
}

static void begin_message(struct tmf_reader *reader, struct span line, size_t at, size_t size)
{
    finish_message(reader);
    reader->prefix = span_trim(span_first(line, at)).size ? at : 0;
    reader->has_message = parse_message(reader, span_from(line, at + size));
    reader->is_skipped = !reader->has_message;
}

static void take_line(struct tmf_reader *reader, struct span line)
{
    size_t size;
    size_t at = find_type(line, &size);
    if (at != SIZE_MAX && !(reader->is_open && at > reader->prefix)) {
        begin_message(reader, line, at, size);
        return;
    }
    if (reader->is_open) {
        if (is_brace(reader, line, '}')) {
            reader->is_open = false;
            finish_message(reader);
        } else {
            add_argument(reader, without_prefix(reader, line));
        }
        return;
    }
    if (is_brace(reader, line, '{')) {
        reader->is_open = reader->has_message;
        return;
    }
    if (reader->is_skipped && is_brace(reader, line, '}')) {
        reader->is_skipped = false;
        return;
    }
    if (find_guid_line(reader, line)) {
        finish_message(reader);
        reader->is_skipped = false;
    }
}

/* A line that is too long to look at. */
static void leave_line(struct tmf_reader *reader, struct span line)
{
    size_t size;
    if (reader->is_open) {
        reader->message.is_cut = true;
    } else if (find_type(span_first(line, TMF_MAX_LINE_BYTES), &size) != SIZE_MAX) {
        finish_message(reader);
        reader->is_skipped = true;
    } else {
        return; /* of another text */
    }
    warn(reader, "a line above 64 KB: skipped");
}

void tmf_reader_init(
    struct tmf_reader *reader, struct arena *arena, const char *origin, const struct tmf_sink *sink)
{
    memset(reader, 0, sizeof(*reader));
    reader->arena = arena;
    reader->origin = origin;
    reader->sink = sink;
}

static void read_line(struct tmf_reader *reader, struct span line)
{
    if (reader->failed) {
        return;
    }
    if (line.size > TMF_MAX_LINE_BYTES) {
        leave_line(reader, line);
        return;
    }
    while (line.size && (line.data[line.size - 1] == '\n' || line.data[line.size - 1] == '\r')) {
        line.size--;
    }
    take_line(reader, line);
}

void tmf_reader_line(struct tmf_reader *reader, struct span line)
{
    reader->line++;
    read_line(reader, line);
}

bool tmf_reader_annotation(struct tmf_reader *reader, const struct span *lines, size_t count,
    size_t place, struct span function)
{
    reader->line = place;
    reader->function = function;
    reader->has_guid = false;
    for (size_t i = 0; i < count; i++) {
        read_line(reader, lines[i]);
    }
    if (!reader->failed) {
        finish_message(reader);
    }
    reader->is_skipped = false;
    return !reader->failed;
}

bool tmf_reader_end(struct tmf_reader *reader)
{
    if (!reader->failed) {
        finish_message(reader);
    }
    if (reader->warnings > TMF_MAX_WARNINGS && reader->sink->warn) {
        char text[1200];
        snprintf(text, sizeof(text), "%s: %zu more lines like these", reader->origin,
            reader->warnings - TMF_MAX_WARNINGS);
        reader->sink->warn(reader->sink->self, text);
    }
    return !reader->failed;
}
