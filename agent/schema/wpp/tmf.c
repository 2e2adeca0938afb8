#include "schema/wpp/tmf.h"

#include <stdio.h>

/*
 * A line is matched against what is possible at this point: a GUID and module, a message, or,
 * between braces, an argument. A message is passed on once it is complete, so a sink sees it whole
 * and once.
 */

/* ---- text ------------------------------------------------------------------------------------ */

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

/* Offset of ${needle} in ${text}, or SIZE_MAX. */
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

/* Remove and return the last word. */
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

/* ---- warnings -------------------------------------------------------------------------------- */

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

/* Pass on the complete message. */
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

/* ---- `guid module // SRC=file MJ= MN=` ------------------------------------------------------- */

/* The value after `KEY=`, up to a blank. */
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

/* The file name at the end of the GUID's line, up to ` MJ=`: file names may contain blanks. */
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
        return false; /* other text that begins with a GUID */
    }
    reader->guid = guid;
    reader->module = module;
    reader->source = comment == SIZE_MAX ? span_make(NULL, 0) : source_of(span_from(rest, comment));
    reader->has_guid = true;
    return true;
}

/* Find a GUID and module inside a line of other text; `// SRC=` is required there. */
static bool find_guid_line(struct tmf_reader *reader, struct span line)
{
    if (parse_guid_line(reader, span_trim(line))) {
        return true;
    }
    size_t comment = find(line, "// SRC=");
    for (size_t at = 1; comment != SIZE_MAX && at + GUID_TEXT_SIZE < comment; at++) {
        /* checking for a dash first is cheap */
        if (line.data[at + 8] == '-' && !is_word(line.data[at - 1]) &&
            parse_guid_line(reader, span_from(line, at))) {
            return true;
        }
    }
    return false;
}

/* ---- `#typev name number "format" // LEVEL=… FLAGS=… FUNC=…` --------------------------------- */

/* Value of ${key} in a message's comment, up to the next key: C++ function names contain blanks. */
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

/* Offset of the closing quote of a format that begins at ${text}: the first quote without a
 * preceding backslash that is followed by the comment or nothing. SIZE_MAX if there is none. */
static size_t closing_quote(struct span text)
{
    while (text.size && span_is_blank(text.data[text.size - 1])) {
        text.size--; /* trim once, not at each quote */
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
        warn(reader, "skipped a message without a format in quotes");
        return false;
    }
    size_t start = (size_t)(quote - text.data) + 1;
    struct span format = span_from(text, start);
    size_t end = closing_quote(format);
    if (end == SIZE_MAX) {
        warn(reader, "skipped a message: its format has no closing quote");
        return false;
    }
    struct span head = span_first(text, start - 1);
    uint32_t number;
    if (!parse_number(take_last_word(&head), UINT16_MAX, &number) || head.size == 0) {
        warn(reader, "skipped a message without a name and a number below 65536");
        return false;
    }
    if (!reader->has_guid) {
        warn(reader, "skipped a message: no line with its GUID precedes it");
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

/* Offset of the word `#typev` or `#type` in the line, or SIZE_MAX. */
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

/* ---- `expression, ItemType(names) -- number` ------------------------------------------------- */

/* Remove the type with its names from the end of ${text}, up to and including the comma before
 * it. */
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

/* The number after the last `--`; without one, the number after the previous argument's. */
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
        warn(reader, "too many arguments in a message; the rest is ignored");
        return;
    }
    bool has_number = take_number(reader, &text, &argument.number);
    argument.type = take_type(&text, &argument.names);
    argument.expression = text;
    if (!has_number || argument.type.size == 0) {
        message->is_cut = true;
        warn(reader,
            "not an argument (expression, ItemType -- number); the message is decoded up to it");
        return;
    }
    argument.item = tmf_item_find(type_name(argument.type));
    argument.values = values_of(reader, &argument);
    reader->arguments[message->argument_count++] = argument;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The line without the prefix that the message's own line has. */
static struct span without_prefix(const struct tmf_reader *reader, struct span line)
{
    return line.size > reader->prefix ? span_from(line, reader->prefix) : span_trim(line);
}

/* True if the line is only a brace after a prefix. A prefix of different length is recognised by
 * the blank before the brace. */
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

/* Skip a line that is too long. */
static void skip_line(struct tmf_reader *reader, struct span line)
{
    size_t size;
    if (reader->is_open) {
        reader->message.is_cut = true;
    } else if (find_type(span_first(line, TMF_MAX_LINE_BYTES), &size) != SIZE_MAX) {
        finish_message(reader);
        reader->is_skipped = true;
    } else {
        return; /* other text */
    }
    warn(reader, "skipped a line longer than 64 KB");
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
        skip_line(reader, line);
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
        snprintf(text, sizeof(text), "%s: %zu further warnings", reader->origin,
            reader->warnings - TMF_MAX_WARNINGS);
        reader->sink->warn(reader->sink->self, text);
    }
    return !reader->failed;
}
