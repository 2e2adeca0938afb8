#include "cli/completion/completion.h"

/*
 * bash splits words at `=` and `:` (COMP_WORDBREAKS), so `--format=ecs` arrives as three words. The
 * script needs bash only.
 */
static const char head[] = "# bash completion for etwship, written by `etwship completion bash`.\n"
                           "# To use it at once: source <(etwship completion bash)\n"
                           "\n";

static const char providers[] =
    "# Names of providers: those of the traces on the line that are not large, else those that "
    "are\n"
    "# known here.\n"
    "_etwship_providers()\n"
    "{\n"
    "    local word size traces=()\n"
    "    for word in \"${COMP_WORDS[@]:2}\"; do\n"
    "        if [[ $word == *.etl && -f $word ]]; then\n"
    "            size=$(wc -c <\"$word\")\n"
    "            ((size <= 32 * 1024 * 1024)) && traces+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "    \"${COMP_WORDS[0]}\" completion providers \"${traces[@]}\" 2>/dev/null\n"
    "}\n"
    "\n";

static const char body[] =
    "_etwship()\n"
    "{\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} options= verbs= operands= words= kind= has_operand= i "
    "word\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        COMPREPLY=($(compgen -W \"$_etwship_commands --help --version\" -- \"$current\"))\n"
    "        return\n"
    "    fi\n"
    "    _etwship_command \"$command\" || return\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    # Is there an operand yet? Values of options are none.\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        if [[ ${COMP_WORDS[i]} != -* ]]; then\n"
    "            has_operand=1\n"
    "        elif _etwship_value \"$command\" \"${COMP_WORDS[i]}\"; then\n"
    "            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
    "            ((i++))\n"
    "        fi\n"
    "    done\n"
    "    words= kind=\n"
    "    if [[ $before == -* ]] && _etwship_value \"$command\" \"$before\"; then\n"
    "        :\n"
    "    elif [[ $current == -* ]]; then\n"
    "        words=\"$options --help\"\n"
    "    elif [[ $verbs && ! $has_operand ]]; then\n"
    "        words=$verbs\n"
    "    else\n"
    "        kind=$operands\n"
    "    fi\n"
    "    if [[ $words ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
    "    fi\n"
    "    if [[ $kind == *providers* ]]; then\n"
    "        while IFS= read -r word; do\n"
    "            [[ $word == \"$current\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
    "        done < <(_etwship_providers)\n"
    "    fi\n"
    "    if [[ $kind == *files* ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        while IFS= read -r word; do\n"
    "            COMPREPLY+=(\"$word\")\n"
    "        done < <(compgen -f -- \"$current\")\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _etwship etwship\n";

static void add_word(void *self, struct span word)
{
    struct buf *out = self;
    completion_add_escaped(out, word, "'", '\'');
    buf_add_byte(out, ' ');
}

static const char *kind_text(enum completion_kind kind)
{
    return kind == COMPLETION_FILES ? "files" : kind == COMPLETION_PROVIDERS ? "providers" : "";
}

/* `dump:--format|dump:-f) words='native ecs ' ;;` */
static void add_value(
    const struct cli_command *command, const struct cli_option *option, struct buf *out)
{
    buf_printf(out, "    %s:--%s", command->name, option->name);
    if (option->letter) {
        buf_printf(out, "|%s:-%c", command->name, option->letter);
    }
    enum completion_kind kind = completion_of_option(option);
    if (kind == COMPLETION_WORDS) {
        buf_add_text(out, ") words='");
        completion_each_word(option, add_word, out);
        buf_add_text(out, "' ;;\n");
    } else {
        buf_printf(out, ") kind=%s ;;\n", kind_text(kind));
    }
}

static void add_values(const struct cli_command *const *commands, struct buf *out)
{
    buf_add_text(out, "# What the value of option $2 of command $1 may be. False: it takes none.\n"
                      "_etwship_value()\n{\n    case $1:$2 in\n");
    for (size_t i = 0; commands[i]; i++) {
        const struct cli_command *command = commands[i];
        for (const struct cli_option *o = command->options; o && o->name; o++) {
            if (o->argument) {
                add_value(command, o, out);
            }
        }
    }
    buf_add_text(out, "    *) return 1 ;;\n    esac\n}\n\n");
}

static void add_command(const struct cli_command *command, struct buf *out)
{
    buf_printf(out, "    %s)\n        options='", command->name);
    for (const struct cli_option *o = command->options; o && o->name; o++) {
        buf_printf(out, "--%s ", o->name);
        if (o->letter) {
            buf_printf(out, "-%c ", o->letter);
        }
    }
    buf_add_text(out, "'\n        verbs='");
    const char *verbs = command->verbs;
    struct span verb;
    while (cli_next_word(&verbs, &verb)) {
        add_word(out, verb);
    }
    buf_printf(out, "'\n        operands='%s%s'\n        ;;\n",
        completion_takes_files(command) ? "files " : "",
        completion_takes_providers(command) ? "providers " : "");
}

void completion_write_bash(const struct cli_command *const *commands, struct buf *out)
{
    buf_add_text(out, head);
    buf_add_text(out, "_etwship_commands='");
    for (size_t i = 0; commands[i]; i++) {
        buf_printf(out, "%s ", commands[i]->name);
    }
    buf_add_text(out, "'\n\n# What may follow command $1. False: nothing.\n"
                      "_etwship_command()\n{\n    case $1 in\n");
    for (size_t i = 0; commands[i]; i++) {
        add_command(commands[i], out);
    }
    buf_add_text(out, "    *) return 1 ;;\n    esac\n}\n\n");
    add_values(commands, out);
    buf_add_text(out, providers);
    buf_add_text(out, body);
}
