/*
 * libyaml's document API builds a whole tree before a caller can stop it, and searches anchors and
 * directives one by one. So the event parser, which keeps nothing, reads the text first and
 * enforces the limits (depth, nodes, anchors, size of a value, one document). Only a text that
 * passed is loaded. Aliases stay edges of the tree, even to a parent: the walk counts visits
 * (config_bind.c).
 */
#include "config/config_yaml.h"

#include "config/config.h"

enum { MAX_DIRECTIVES = 16 };

struct scan {
    const char *file;
    struct config_report *report;
    struct span text;
    size_t nodes;
    size_t anchors;
    size_t depth;
    size_t documents;
};

static bool refuse(const struct scan *scan, const yaml_mark_t *mark, const char *what)
{
    config_report_add(
        scan->report, scan->file, config_yaml_line(mark), config_yaml_column(mark), "%s", what);
    return false;
}

/* Place of byte ${offset}, for errors of libyaml's reader, which have no mark. */
static yaml_mark_t mark_of(struct span text, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < text.size; i++) {
        if (text.data[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((text.data[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

/* libyaml's marks count characters, not bytes. */
static bool is_at_tab(struct span text, const yaml_mark_t *mark)
{
    size_t line = 0;
    size_t column = 0;
    for (size_t i = 0; i < text.size && line <= mark->line; i++) {
        if (line == mark->line && column == mark->column && text.data[i] == '\t') {
            return true;
        }
        if (text.data[i] == '\n') {
            line++;
            column = 0;
        } else if ((text.data[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return false;
}

/* libyaml's texts for the most frequent mistakes, and the texts of this program. The first match of
 * either column (NULL: any) counts. */
static const struct {
    const char *problem;
    const char *context;
    bool at_context; /* the place is the start of the construct, not the place of the failure */
    const char *what;
} known_problems[] = {
    {"found unknown escape character", NULL, false,
        "no such escape in double quotes. write Windows paths in single quotes: 'C:\\temp'"},
    {"did not find expected hexdecimal number", NULL, false,
        "no such escape in double quotes. write Windows paths in single quotes: 'C:\\temp'"},
    {NULL, "while scanning an alias", false,
        "* makes an alias here. put a text that starts with * in quotes"},
    {"found undefined alias", NULL, false,
        "there is no anchor of this name above. put a text that starts with * in quotes"},
    {"second occurrence", NULL, false, "this anchor is given twice. choose another name"},
    {"found character that cannot start any token", NULL, false,
        "a value cannot start with this character. put it in quotes"},
    {"mapping values are not allowed in this context", NULL, false,
        "a second key in one line, or one that is indented too far. align keys, and put a text "
        "with ': ' in quotes"},
    {"found unexpected ':'", NULL, true,
        "in [ ] and { } a text with a colon at its end, or before a comma, needs quotes. quote the "
        "whole expression"},
    {"did not find expected '-' indicator", NULL, false,
        "this cannot follow the text before it. quote the whole expression, and align the dashes "
        "of one list"},
    {"did not find expected key", "while parsing a block mapping", false,
        "this cannot follow the text before it. quote the whole expression, and align the keys of "
        "one mapping"},
    {"did not find expected <document start>", NULL, false,
        "this does not fit the lines above. align the keys of one mapping"},
    {"could not find expected ':'", "while scanning a simple key", true,
        "this line is not key: value. put a colon and a space after the key, or a text of several "
        "lines in quotes"},
    {"found unexpected end of stream", "while scanning a quoted scalar", true,
        "a quote is not closed. close it"},
};

/* Report a problem that is in the table above. */
static bool refuse_known(const struct scan *scan, const yaml_parser_t *parser)
{
    for (size_t i = 0; i < sizeof(known_problems) / sizeof(known_problems[0]); i++) {
        const char *problem = known_problems[i].problem;
        const char *context = known_problems[i].context;
        if ((!problem || (parser->problem && strcmp(parser->problem, problem) == 0)) &&
            (!context || (parser->context && strcmp(parser->context, context) == 0))) {
            refuse(scan,
                known_problems[i].at_context ? &parser->context_mark : &parser->problem_mark,
                known_problems[i].what);
            return true;
        }
    }
    return false;
}

/* Report a [ or { that is not closed, or that lacks a comma between two values. */
static bool refuse_open(const struct scan *scan, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "";
    bool list = strcmp(problem, "did not find expected ',' or ']'") == 0;
    if (!list && strcmp(problem, "did not find expected ',' or '}'") != 0) {
        return false;
    }
    config_report_add(scan->report, scan->file, config_yaml_line(&parser->problem_mark),
        config_yaml_column(&parser->problem_mark),
        "a comma or %s is missing before this; the %s is at %u:%u. add it. a text with #, quotes "
        "or brackets belongs in quotes",
        list ? "]" : "}", list ? "[" : "{", config_yaml_line(&parser->context_mark),
        config_yaml_column(&parser->context_mark));
    return true;
}

static bool refuse_reading(const struct scan *scan, const yaml_parser_t *parser)
{
    yaml_mark_t mark = mark_of(scan->text, parser->problem_offset);
    bool is_control = parser->problem_value >= 0 && parser->problem_value < 0x20;
    return refuse(scan, &mark,
        is_control ? "a control character. YAML takes it only as an escape in double quotes"
                   : "this is not UTF-8 text. save the file as UTF-8");
}

static bool refuse_syntax(const struct scan *scan, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        config_report_add(scan->report, scan->file, 0, 0, "out of memory. free some and retry");
        return false;
    }
    if (parser->error == YAML_READER_ERROR) {
        return refuse_reading(scan, parser);
    }
    const yaml_mark_t *mark = &parser->problem_mark;
    if (is_at_tab(scan->text, mark)) {
        return refuse(scan, mark, "a TAB cannot indent or separate in YAML. use spaces");
    }
    if (refuse_known(scan, parser) || refuse_open(scan, parser)) {
        return false;
    }
    if (parser->context) {
        config_report_add(scan->report, scan->file, config_yaml_line(mark),
            config_yaml_column(mark),
            "not valid YAML: %s, %s that starts at %u:%u. check indentation, quotes and brackets "
            "there",
            parser->problem, parser->context, config_yaml_line(&parser->context_mark),
            config_yaml_column(&parser->context_mark));
    } else {
        config_report_add(scan->report, scan->file, config_yaml_line(mark),
            config_yaml_column(mark),
            "not valid YAML: %s. check indentation, quotes and brackets here",
            parser->problem ? parser->problem : "it cannot be read");
    }
    return false;
}

static bool check_node(struct scan *scan, const yaml_event_t *event, const yaml_char_t *anchor)
{
    if (++scan->nodes > CONFIG_MAX_NODES) {
        return refuse(scan, &event->start_mark, "more than 100000 values. split the configuration");
    }
    if (anchor && ++scan->anchors > CONFIG_MAX_ANCHORS) {
        return refuse(scan, &event->start_mark, "more than 256 anchors. repeat values instead");
    }
    return true;
}

static bool check_event(struct scan *scan, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++scan->documents > 1) {
            return refuse(scan, &event->start_mark,
                "a second document starts here. keep one document in a file");
        }
        return true;
    case YAML_SCALAR_EVENT:
        if (event->data.scalar.length > CONFIG_MAX_VALUE_BYTES) {
            return refuse(scan, &event->start_mark, "a value of more than 65536 bytes. shorten it");
        }
        return check_node(scan, event, event->data.scalar.anchor);
    case YAML_ALIAS_EVENT:
        return check_node(scan, event, NULL);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (++scan->depth > CONFIG_MAX_DEPTH) {
            return refuse(scan, &event->start_mark, "nested more than 32 levels deep. flatten it");
        }
        return check_node(scan, event,
            event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                    : event->data.sequence_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        scan->depth--;
        return true;
    default:
        return true;
    }
}

/* libyaml takes the text for UTF-8, whatever it looks like. */
static bool start(yaml_parser_t *parser, const struct scan *scan)
{
    if (!yaml_parser_initialize(parser)) {
        config_report_add(scan->report, scan->file, 0, 0, "out of memory. free some and retry");
        return false;
    }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, scan->text.data, scan->text.size);
    return true;
}

static bool check_events(struct scan *scan)
{
    yaml_parser_t parser;
    if (!start(&parser, scan)) {
        return false;
    }
    bool good = true;
    bool end = false;
    while (good && !end) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event)) {
            end = event.type == YAML_STREAM_END_EVENT;
            good = check_event(scan, &event);
            yaml_event_delete(&event);
        } else {
            good = refuse_syntax(scan, &parser);
        }
    }
    yaml_parser_delete(&parser);
    return good;
}

/* libyaml compares each %TAG with all previous ones. */
static bool check_directives(const struct scan *scan)
{
    size_t directives = 0;
    for (size_t i = 0; i < scan->text.size; i++) {
        bool line_start = i == 0 || scan->text.data[i - 1] == '\n' ||
                          scan->text.data[i - 1] == '\r';
        if (line_start && scan->text.data[i] == '%' && ++directives > MAX_DIRECTIVES) {
            yaml_mark_t mark = mark_of(scan->text, i);
            return refuse(scan, &mark, "more than 16 lines start with %. indent or quote them");
        }
    }
    return true;
}

bool config_yaml_load(
    struct span text, const char *file, yaml_document_t *ret_document, struct config_report *report)
{
    static const yaml_mark_t top;
    if (span_is(span_first(text, 3), "\xef\xbb\xbf")) {
        text = span_from(text, 3);
    }
    struct scan scan = {.file = file, .report = report, .text = text};
    struct span mark = span_first(text, 2);
    if (text.size > CONFIG_MAX_FILE_BYTES) {
        return refuse(&scan, &top, "the file is larger than 4 MB. split the configuration");
    }
    if (span_is(mark, "\xff\xfe") || span_is(mark, "\xfe\xff")) {
        return refuse(&scan, &top, "this is UTF-16 text. save the file as UTF-8");
    }
    if (!check_directives(&scan) || !check_events(&scan)) {
        return false;
    }
    yaml_parser_t parser;
    if (!start(&parser, &scan)) {
        return false;
    }
    bool good = yaml_parser_load(&parser, ret_document);
    if (!good) {
        refuse_syntax(&scan, &parser);
    }
    yaml_parser_delete(&parser);
    return good;
}
