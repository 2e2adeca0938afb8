#include "cli/completion/completion.h"

#include "base/span.h"

enum { SUMMARY_BYTES = 80 };

enum completion_kind completion_of_option(const struct cli_option *option)
{
    static const char *const files[] = {"FILE", "PATH", "PACK"};
    if (cli_option_values(option) || option->known) {
        return COMPLETION_WORDS;
    }
    if (strcmp(option->argument, "PROVIDER") == 0) {
        return COMPLETION_PROVIDERS;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strncmp(option->argument, files[i], strlen(files[i])) == 0) {
            return COMPLETION_FILES;
        }
    }
    return COMPLETION_FREE;
}

void completion_each_word(
    const struct cli_option *option, void (*each)(void *self, struct span word), void *self)
{
    const char *values = cli_option_values(option);
    struct span word;
    while (cli_next_word(&values, &word)) {
        each(self, word);
    }
    for (size_t i = 0; option->known && option->known(i); i++) {
        each(self, span_text(option->known(i)));
    }
}

bool completion_takes_files(const struct cli_command *command)
{
    return strstr(command->synopsis, "FILE...") || strstr(command->synopsis, "FILE]...") ||
           strstr(command->synopsis, "TRACE...");
}

bool completion_takes_providers(const struct cli_command *command)
{
    return strstr(command->synopsis, "NAME|GUID") || strstr(command->synopsis, "show PROVIDER");
}

struct span completion_summary(const char *help)
{
    struct span text = span_text(help);
    size_t size = 0;
    while (size < text.size && size < SUMMARY_BYTES && text.data[size] != ';' &&
           !(text.data[size] == '.' && (size + 1 == text.size || text.data[size + 1] == ' '))) {
        size++;
    }
    while (size < text.size && size && (text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    if (size == SUMMARY_BYTES) {
        while (size && text.data[size] != ' ') {
            size--;
        }
    }
    return span_first(text, size);
}

void completion_add_escaped(struct buf *out, struct span text, const char *special, char escape)
{
    for (size_t i = 0; i < text.size; i++) {
        if (strchr(special, text.data[i])) {
            buf_add_byte(out, (uint8_t)escape);
        }
        buf_add_byte(out, text.data[i]);
    }
}
