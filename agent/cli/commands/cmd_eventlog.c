#include <stdio.h>
#include <stdlib.h>

#include "cli/options/cli.h"
#include "etw/etw_text.h"
#include "event/value/value_json.h"
#include "evt/evt_channels.h"

/* `etwship eventlog`: the channels of this machine's Event Log. */

enum { MAX_OUTPUT_BYTES = 64 * 1024 * 1024, NAME_BYTES = EVT_CHANNELS_NAME_CHARS * 3 };

static const struct cli_option options[] = {
    {.name = "json", .help = "JSON lines: an object per channel."},
    {.name = NULL},
};

struct listing {
    struct buf out;
    bool json;
};

static void add_text(struct buf *out, const char *key, const evt_char *text, size_t max_chars)
{
    size_t capacity = max_chars * 3 + 1;
    char *utf8 = malloc(capacity);
    if (!utf8) {
        out->failed = true;
        return;
    }
    size_t size = etw_text_decode(text, max_chars, utf8, capacity);
    buf_printf(out, "\"%s\":", key);
    value_json_string(span_make(utf8, size), out);
    free(utf8);
}

static void add_json(struct buf *out, const struct evt_channel_info *info)
{
    buf_add_byte(out, '{');
    add_text(out, "name", info->name, EVT_CHANNELS_NAME_CHARS);
    buf_printf(out, ",\"type\":\"%s\",\"enabled\":%s,\"readable\":%s",
        evt_channels_type(info->type), info->is_enabled ? "true" : "false",
        info->is_readable ? "true" : "false");
    if (info->is_readable) {
        buf_printf(out, ",\"records\":%llu,\"file_bytes\":%llu",
            (unsigned long long)info->record_count, (unsigned long long)info->file_bytes);
    } else {
        buf_add_text(out, ",\"reason\":");
        value_json_string(span_text(evt_api_reason(info->reason)), out);
    }
    if (info->record_count) {
        buf_printf(out, ",\"oldest_record\":%llu", (unsigned long long)info->oldest_record);
    }
    if (info->max_bytes) {
        buf_printf(out, ",\"max_bytes\":%llu", (unsigned long long)info->max_bytes);
    }
    if (info->access[0]) {
        buf_add_byte(out, ',');
        add_text(out, "access", info->access, EVT_CHANNELS_ACCESS_CHARS);
    }
    buf_add_text(out, "}\n");
}

static void add_line(struct buf *out, const struct evt_channel_info *info)
{
    char name[NAME_BYTES];
    etw_text_decode(info->name, EVT_CHANNELS_NAME_CHARS, name, sizeof(name));
    buf_printf(
        out, "%-11s  %-8s  ", evt_channels_type(info->type), info->is_enabled ? "enabled" : "off");
    if (info->is_readable) {
        buf_printf(out, "%10llu  %10llu  %8llu", (unsigned long long)info->record_count,
            (unsigned long long)info->oldest_record, (unsigned long long)(info->file_bytes / 1024));
    } else {
        buf_printf(out, "%10s  %10s  %8s", "-", "-", "-");
    }
    buf_printf(out, "  %s", name);
    if (!info->is_readable) {
        buf_printf(out, "  (%s)", evt_api_reason(info->reason));
    }
    buf_add_byte(out, '\n');
}

static bool add_channel(void *self, struct evt_channel_info *info)
{
    struct listing *listing = self;
    evt_channels_look(info);
    if (listing->json) {
        add_json(&listing->out, info);
    } else {
        add_line(&listing->out, info);
    }
    return !listing->out.failed;
}

static int list(bool json)
{
    struct listing listing = {.json = json};
    struct error err;
    buf_init(&listing.out, MAX_OUTPUT_BYTES);
    if (!json) {
        buf_printf(&listing.out, "%-11s  %-8s  %10s  %10s  %8s  %s\n", "TYPE", "STATE", "RECORDS",
            "OLDEST", "KB", "CHANNEL");
    }
    bool good = evt_channels_each(add_channel, &listing, &err);
    if (good && listing.out.failed) {
        good = error_set(&err, ERR_MEMORY, "out of memory for the list");
    }
    if (good) {
        fwrite(listing.out.data, 1, listing.out.size, stdout);
    } else {
        cli_error("%s", err.text);
    }
    buf_fini(&listing.out);
    return good ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct cli_args *args)
{
    if (!span_is(span_text(args->operands[0]), "list")) {
        cli_error("eventlog %s: unknown verb. write list", args->operands[0]);
        return EXIT_USAGE;
    }
    if (!evt_api_is_there()) {
        cli_error("eventlog: this system has no Windows Event Log. `etwship dump` reads saved logs "
                  "(.evtx) anywhere");
        return EXIT_FAILED;
    }
    return list(cli_value(args, "json") != NULL);
}

const struct cli_command cmd_eventlog = {
    .name = "eventlog",
    .synopsis = "list [--json]",
    .summary = "list the channels of the Windows Event Log",
    .description =
        "Every channel with its type, whether it is enabled, how many records it has, the number "
        "of the oldest one, the size of its file, and whether the current user may read it. With "
        "--json also the largest size, and the accounts that may read and write it, as SDDL. "
        "Channels of type analytic and debug cannot be read live. Needs Windows.",
    .options = options,
    .examples = "       etwship eventlog list\n"
                "       etwship eventlog list --json\n",
    .verbs = "list",
    .operands = {"VERB", 1, 1},
    .run = run,
};
