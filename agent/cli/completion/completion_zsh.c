#include "cli/completion/completion.h"

/* Specifications of _arguments (zshcompsys(1), "Utility Functions"). */
static const char head[] =
    "#compdef etwship\n"
    "# zsh completion for etwship, written by `etwship completion zsh`, for a file _etwship in "
    "$fpath.\n"
    "\n"
    "# Names of providers: those of the traces on the line that are not large, else those that "
    "are\n"
    "# known here.\n"
    "_etwship_providers()\n"
    "{\n"
    "    local -a names traces\n"
    "    local word\n"
    "    zmodload -F zsh/stat b:zstat 2>/dev/null\n"
    "    for word in ${(Q)words[2,-1]}; do\n"
    "        if [[ $word == *.etl && -f $word ]] && (( $(zstat +size -- $word) <= 33554432 )); "
    "then\n"
    "            traces+=($word)\n"
    "        fi\n"
    "    done\n"
    "    names=(${(f)\"$(_call_program providers etwship completion providers ${(q)traces} "
    "2>/dev/null)\"})\n"
    "    compadd -a names\n"
    "}\n"
    "\n";

static const char body_start[] = "_etwship()\n"
                                 "{\n"
                                 "    local context state state_descr line\n"
                                 "    typeset -A opt_args\n"
                                 "    _arguments -C \\\n"
                                 "        '(- *)'{-h,--help}'[print the commands]' \\\n"
                                 "        '(- *)'{-V,--version}'[print the version]' \\\n"
                                 "        '1: :->command' '*:: :->argument' && return 0\n"
                                 "    case $state in\n"
                                 "    command)\n"
                                 "        local -a commands\n"
                                 "        commands=(\n";

static const char body_middle[] = "        )\n"
                                  "        _describe -t commands command commands\n"
                                  "        ;;\n"
                                  "    argument)\n"
                                  "        case $words[1] in\n";

static const char body_end[] = "        esac\n"
                               "        ;;\n"
                               "    esac\n"
                               "}\n"
                               "\n"
                               "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                               "    _etwship \"$@\"\n"
                               "else\n"
                               "    compdef _etwship etwship\n"
                               "fi\n";

/* Append ${text} inside single quotes, closed around each one in the text, and inside a
 * specification. */
static void add_text(struct buf *out, struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '\'') {
            buf_add_text(out, "'\\''");
        } else {
            completion_add_escaped(out, span_make(&c, 1), "[]:\\", '\\');
        }
    }
}

static void add_word(void *self, struct span word)
{
    struct buf *out = self;
    add_text(out, word);
    buf_add_byte(out, ' ');
}

static void add_action(const struct cli_option *option, struct buf *out)
{
    buf_add_byte(out, ':');
    add_text(out, span_text(option->argument));
    switch (completion_of_option(option)) {
    case COMPLETION_WORDS:
        buf_add_text(out, ":(");
        completion_each_word(option, add_word, out);
        buf_add_byte(out, ')');
        break;
    case COMPLETION_FILES:
        buf_add_text(out, ":_files");
        break;
    case COMPLETION_PROVIDERS:
        buf_add_text(out, ":_etwship_providers");
        break;
    default:
        buf_add_text(out, ": ");
        break;
    }
}

/* `'(-f --format)'{-f+,--format=}'[Shape of the events]:native|ecs:(native ecs )'` */
static void add_option(const struct cli_option *option, struct buf *out)
{
    const char *value = option->argument ? "=" : "";
    buf_add_text(out, " \\\n                ");
    if (option->letter && option->repeated) {
        buf_printf(out, "'*'{-%c%s,--%s%s}'", option->letter, option->argument ? "+" : "",
            option->name, value);
    } else if (option->letter) {
        buf_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter,
            option->argument ? "+" : "", option->name, value);
    } else {
        buf_printf(out, "'%s--%s%s", option->repeated ? "*" : "", option->name, value);
    }
    buf_add_byte(out, '[');
    add_text(out, completion_summary(option->help));
    buf_add_byte(out, ']');
    if (option->argument) {
        add_action(option, out);
    }
    buf_add_byte(out, '\'');
}

static void add_operands(const struct cli_command *command, struct buf *out)
{
    const char *verbs = command->verbs;
    struct span verb;
    if (verbs) {
        buf_add_text(out, " \\\n                '1:command:(");
        while (cli_next_word(&verbs, &verb)) {
            add_word(out, verb);
        }
        buf_add_text(out, ")'");
    }
    bool files = completion_takes_files(command);
    bool providers = completion_takes_providers(command);
    if (files && providers) {
        buf_add_text(
            out, " \\\n                '*:file or provider:{ _files; _etwship_providers }'");
    } else if (files) {
        buf_add_text(out, " \\\n                '*:file:_files'");
    }
}

void completion_write_zsh(const struct cli_command *const *commands, struct buf *out)
{
    buf_add_text(out, head);
    buf_add_text(out, body_start);
    for (size_t i = 0; commands[i]; i++) {
        buf_printf(out, "            '%s:", commands[i]->name);
        add_text(out, span_text(commands[i]->summary));
        buf_add_text(out, "'\n");
    }
    buf_add_text(out, body_middle);
    for (size_t i = 0; commands[i]; i++) {
        const struct cli_command *command = commands[i];
        buf_printf(out,
            "        %s)\n            _arguments \\\n"
            "                '(- *)'{-h,--help}'[print the page of the command]'",
            command->name);
        for (const struct cli_option *o = command->options; o && o->name; o++) {
            add_option(o, out);
        }
        add_operands(command, out);
        buf_add_text(out, "\n            ;;\n");
    }
    buf_add_text(out, body_end);
}
