#include "platform/plat_child.h"

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

struct span plat_child_program(const char *command_line)
{
    struct span rest = span_text(command_line);
    size_t size = 0;
    while (rest.size && is_blank(rest.data[0])) {
        rest = span_from(rest, 1);
    }
    bool is_quoted = rest.size && rest.data[0] == '"';
    rest = span_from(rest, is_quoted);
    while (size < rest.size && (is_quoted ? rest.data[size] != '"' : !is_blank(rest.data[size]))) {
        size++;
    }
    return span_first(rest, is_quoted && size == rest.size ? 0 : size);
}
