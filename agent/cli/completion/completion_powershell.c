#include "cli/completion/completion.h"

/* Where the script offers nothing, PowerShell offers files. */
static const char head[] =
    "# PowerShell completion for etwship, written by `etwship completion powershell`.\n"
    "# To use it at once: etwship completion powershell | Out-String | Invoke-Expression\n"
    "\n"
    "Register-ArgumentCompleter -Native -CommandName 'etwship', 'etwship.exe' -ScriptBlock {\n"
    "    param($wordToComplete, $commandAst, $cursorPosition)\n"
    "\n"
    "    # By command: a line, what its first operand may be, and its options. Of each option: "
    "whether\n"
    "    # it takes a value, the values that there are, and a line.\n"
    "    $commands = [ordered]@{\n";

static const char body[] =
    "    }\n"
    "\n"
    "    $words = @($commandAst.CommandElements | Where-Object {\n"
    "            $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })\n"
    "    if ($wordToComplete -and $words.Count -gt 1) {\n"
    "        $words = @($words[0..($words.Count - 2)])\n"
    "    }\n"
    "    # --option=value is one word here.\n"
    "    $prefix = ''\n"
    "    if ($wordToComplete -match '^(--[a-z0-9-]+)=(.*)$') {\n"
    "        $words += $Matches[1]\n"
    "        $prefix = $Matches[1] + '='\n"
    "        $wordToComplete = $Matches[2]\n"
    "    }\n"
    "    $offer = {\n"
    "        param($text, $line)\n"
    "        if ($text -like ([WildcardPattern]::Escape($wordToComplete) + '*')) {\n"
    "            $quoted = if ($text -match '[^\\w.:+/=-]') { \"'\" + $text.Replace(\"'\", \"''\") "
    "+ "
    "\"'\" } else { $text }\n"
    "            if (-not $line) { $line = $text }\n"
    "            [System.Management.Automation.CompletionResult]::new("
    "($prefix + $quoted), $text, 'ParameterValue', $line)\n"
    "        }\n"
    "    }\n"
    "    $offerProviders = {\n"
    "        $traces = @($words | Select-Object -Skip 2 | Where-Object { $_ -like '*.etl' } |\n"
    "                Where-Object { (Test-Path -LiteralPath $_) -and "
    "(Get-Item -LiteralPath $_).Length -le 33554432 })\n"
    "        & $words[0] completion providers $traces 2>$null | ForEach-Object { & $offer $_ $null "
    "}\n"
    "    }\n"
    "    if ($words.Count -le 1) {\n"
    "        foreach ($name in $commands.Keys) { & $offer $name $commands[$name].Line }\n"
    "        foreach ($name in '--help', '--version') { & $offer $name $null }\n"
    "        return\n"
    "    }\n"
    "    $command = $commands[$words[1]]\n"
    "    if (-not $command) { return }\n"
    "    $option = $command.Options[$words[-1]]\n"
    "    if ($option -and $option.Takes) {\n"
    "        foreach ($value in $option.Words) { & $offer $value $option.Line }\n"
    "        if ($option.Takes -eq 'providers') { & $offerProviders }\n"
    "        return\n"
    "    }\n"
    "    if ($wordToComplete -like '-*') {\n"
    "        foreach ($name in $command.Options.Keys) {\n"
    "            & $offer $name $command.Options[$name].Line\n"
    "        }\n"
    "        & $offer '--help' 'Print this page.'\n"
    "        return\n"
    "    }\n"
    "    if ($command.Verbs -and $words.Count -eq 2) {\n"
    "        foreach ($verb in $command.Verbs) { & $offer $verb $null }\n"
    "    } elseif ($command.Providers) {\n"
    "        & $offerProviders\n"
    "    }\n"
    "}\n";

static void add_quoted(struct buf *out, struct span text)
{
    buf_add_byte(out, '\'');
    completion_add_escaped(out, text, "'", '\'');
    buf_add_byte(out, '\'');
}

struct list {
    struct buf *out;
    size_t count;
};

static void add_word(void *self, struct span word)
{
    struct list *list = self;
    buf_add_text(list->out, list->count++ ? ", " : "");
    add_quoted(list->out, word);
}

static void add_option(struct buf *out, const char *name, const struct cli_option *option)
{
    static const char *const kinds[] = {[COMPLETION_FREE] = "value",
        [COMPLETION_WORDS] = "word",
        [COMPLETION_FILES] = "file",
        [COMPLETION_PROVIDERS] = "providers"};
    struct list list = {.out = out};
    buf_add_text(out, "                ");
    add_quoted(out, span_text(name));
    buf_printf(out, " = @{ Takes = '%s'; Words = @(",
        option->argument ? kinds[completion_of_option(option)] : "");
    if (option->argument) {
        completion_each_word(option, add_word, &list);
    }
    buf_add_text(out, "); Line = ");
    add_quoted(out, completion_summary(option->help));
    buf_add_text(out, " }\n");
}

static void add_command(struct buf *out, const struct cli_command *command)
{
    struct list list = {.out = out};
    const char *verbs = command->verbs;
    struct span verb;
    buf_add_text(out, "        ");
    add_quoted(out, span_text(command->name));
    buf_add_text(out, " = @{\n            Line = ");
    add_quoted(out, span_text(command->summary));
    buf_add_text(out, "\n            Verbs = @(");
    while (cli_next_word(&verbs, &verb)) {
        add_word(&list, verb);
    }
    buf_printf(out, ")\n            Providers = $%s\n            Options = [ordered]@{\n",
        completion_takes_providers(command) ? "true" : "false");
    for (const struct cli_option *o = command->options; o && o->name; o++) {
        char name[64] = "--";
        size_t size = strlen(o->name) < 60 ? strlen(o->name) : 60;
        memcpy(name + 2, o->name, size);
        add_option(out, name, o);
        if (o->letter) {
            const char letter[] = {'-', o->letter, 0};
            add_option(out, letter, o);
        }
    }
    buf_add_text(out, "            }\n        }\n");
}

void completion_write_powershell(const struct cli_command *const *commands, struct buf *out)
{
    buf_add_text(out, head);
    for (size_t i = 0; commands[i]; i++) {
        add_command(out, commands[i]);
    }
    buf_add_text(out, body);
}
