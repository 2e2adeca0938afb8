#include "cli/text/output_words.h"

#include <stdio.h>

#include "base/text/nearest.h"
#include "base/visible.h"

enum { MAX_BYTES = 1024 * 1024 };

const struct app_output *output_words_find(
    const struct cli_args *args, const struct app_config *config)
{
    struct nearest nearest = {.text = span_text(args->operands[0])};
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        if (span_is(nearest.text, output->name)) {
            return output;
        }
        nearest_consider(&nearest, span_text(output->name));
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        cli_error("no output is called '%s'. did you mean %.*s?", args->operands[0],
            (int)meant.size, (const char *)meant.data);
    } else {
        cli_error("no output is called '%s'. `etwship check` lists them", args->operands[0]);
    }
    return NULL;
}

void output_words_say(enum output_finding finding, const char *text)
{
    static const char *const words[] = {
        [OUTPUT_FOUND_GOOD] = "ok:    ",
        [OUTPUT_FOUND_NOTE] = "note:  ",
        [OUTPUT_FOUND_FAULT] = "fault: ",
    };
    struct buf line;
    buf_init(&line, MAX_BYTES);
    buf_printf(&line, "%s%s\n", words[finding], text);
    visible_make(&line, 0);
    fwrite(line.data, 1, line.size, stdout);
    fflush(stdout);
    buf_fini(&line);
}

static void say(void *host, enum output_finding finding, const char *text)
{
    (void)host;
    output_words_say(finding, text);
}

/* In a dry run, as the consoles of the servers take comments. */
static void say_aside(void *host, enum output_finding finding, const char *text)
{
    (void)host;
    fputs("# ", stdout);
    output_words_say(finding, text);
}

static void show(void *host, const char *method, const char *path, struct span body)
{
    (void)host;
    printf("%s %s\n", method, path);
    fwrite(body.data, 1, body.size, stdout);
    fputs("\n\n", stdout);
}

struct output_talk output_words_talk(const struct app_output *output, bool dry_run)
{
    return (struct output_talk){.name = output->name,
        .format = app_config_format(output),
        .dry_run = dry_run,
        .say = dry_run ? say_aside : say,
        .show = show};
}
