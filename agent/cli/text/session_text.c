#include "cli/text/session_text.h"

#include <stdio.h>

#include "base/append.h"
#include "base/utf.h"
#include "base/visible.h"
#include "config/config_value.h"
#include "etw/etw_hold.h"
#include "event/model/trace_clock.h"
#include "event/value/value_json.h"

/* ---- what a session is ----------------------------------------------------------------------- */

enum session_owner session_text_owner(const struct etw_session_state *session)
{
    if (!etw_hold_is_ours(session->name)) {
        return SESSION_OWNER_UNKNOWN;
    }
    switch (etw_hold_look(session->name, NULL)) {
    case ETW_HOLD_FREE:
        return SESSION_OWNER_ENDED;
    case ETW_HOLD_DOUBTFUL:
        return SESSION_OWNER_DOUBTFUL;
    case ETW_HOLD_HELD:
        break;
    }
    return SESSION_OWNER_AGENT;
}

static const char *owner_text(const struct etw_session_state *session)
{
    switch (session_text_owner(session)) {
    case SESSION_OWNER_AGENT:
        return "etwship";
    case SESSION_OWNER_ENDED:
        return "etwship, orphan";
    case SESSION_OWNER_DOUBTFUL:
        return "etwship, doubtful";
    case SESSION_OWNER_UNKNOWN:
        break;
    }
    return "";
}

/* Bits of LogFileMode (logging-mode-constants on learn.microsoft.com), the most important first. */
static const struct {
    uint32_t bit;
    const char *name;
} modes[] = {
    {ETW_MODE_REAL_TIME, "real_time"},
    {ETW_MODE_SEQUENTIAL, "sequential"},
    {ETW_MODE_CIRCULAR, "circular"},
    {ETW_MODE_APPEND, "append"},
    {ETW_MODE_NEWFILE, "newfile"},
    {ETW_MODE_BUFFERING, "buffering"},
    {ETW_MODE_SYSTEM_LOGGER, "system_logger"},
    {ETW_MODE_PRIVATE_LOGGER, "private_logger"},
    {ETW_MODE_SECURE, "secure"},
    {ETW_MODE_COMPRESSED, "compressed"},
    {ETW_MODE_USE_PAGED_MEMORY, "paged_memory"},
    {ETW_MODE_INDEPENDENT_SESSION, "independent"},
    {ETW_MODE_NO_PER_PROCESSOR_BUFFERING, "no_per_processor_buffering"},
    {ETW_MODE_USE_GLOBAL_SEQUENCE, "global_sequence"},
    {ETW_MODE_USE_LOCAL_SEQUENCE, "local_sequence"},
    {ETW_MODE_PREALLOCATE, "preallocate"},
    {ETW_MODE_NONSTOPPABLE, "nonstoppable"},
    {ETW_MODE_STOP_ON_HYBRID_SHUTDOWN, "stop_on_hybrid_shutdown"},
    {ETW_MODE_PERSIST_ON_HYBRID_SHUTDOWN, "persist_on_hybrid_shutdown"},
};

enum { MODES = sizeof(modes) / sizeof(modes[0]), TABLE_MODES = 7 };

/* The first ${count} names that apply, with commas. */
static void mode_text(
    const struct etw_session_state *session, size_t count, char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        if (session->mode & modes[i].bit) {
            append_printf(text, size, "%s%s", *text ? "," : "", modes[i].name);
        }
    }
    if (!*text && session->file[0]) {
        snprintf(text, size, "file"); /* without a limit it has no bit of its own */
    }
}

static const char *clock_name(uint32_t clock)
{
    switch (clock) {
    case TRACE_CLOCK_RAW: /* the default */
    case TRACE_CLOCK_QPC:
        return "qpc";
    case TRACE_CLOCK_SYSTEM_TIME:
        return "system";
    case TRACE_CLOCK_CPU_CYCLE:
        return "cpu";
    default:
        return "unknown";
    }
}

static void add_plain(struct buf *out, const char *text)
{
    visible_add(out, span_text(text));
}

/* ---- table ----------------------------------------------------------------------------------- */

enum { COLUMNS = 10, CELL_BYTES = ETW_NAME_BYTES };

static const struct {
    const char *title;
    bool is_number;
} columns[COLUMNS] = {
    {"Name", false},
    {"Buffers", true},
    {"Free", true},
    {"Written", true},
    {"EventsLost", true},
    {"LogBuffersLost", true},
    {"RealTimeBuffersLost", true},
    {"Mode", false},
    {"Clock", false},
    {"Owner", false},
};

/* The text of a column, before visible_add; ${session} NULL: its title. */
static void cell_text(const struct etw_session_state *session, size_t column, char *text)
{
    if (!session) {
        snprintf(text, CELL_BYTES, "%s", columns[column].title);
        return;
    }
    const uint32_t numbers[COLUMNS] = {0, session->buffers, session->free_buffers,
        session->buffers_written, session->events_lost, session->log_buffers_lost,
        session->real_time_buffers_lost};
    switch (column) {
    case 0:
        snprintf(text, CELL_BYTES, "%s", session->name);
        break;
    case 7:
        mode_text(session, TABLE_MODES, text, CELL_BYTES);
        break;
    case 8:
        snprintf(text, CELL_BYTES, "%s", clock_name(session->clock));
        break;
    case 9:
        snprintf(text, CELL_BYTES, "%s", owner_text(session));
        break;
    default:
        snprintf(text, CELL_BYTES, "%u", numbers[column]);
        break;
    }
}

/* Width of ${text} as visible_add writes it, assuming a column per character. */
static size_t width_of(const char *text)
{
    struct buf shown;
    buf_init(&shown, 8 * CELL_BYTES);
    visible_add(&shown, span_text(text));
    struct span s = buf_span(&shown);
    size_t width = 0;
    for (size_t at = 0; at < s.size; width++) {
        utf8_next(s, &at);
    }
    buf_fini(&shown);
    return width;
}

static void add_padding(struct buf *out, size_t count)
{
    while (count-- && !out->failed) {
        buf_add_byte(out, ' ');
    }
}

static void add_row(const struct etw_session_state *session, const size_t *widths, struct buf *out)
{
    char text[CELL_BYTES];
    size_t spaces = 0; /* spaces are written only before something */
    for (size_t i = 0; i < COLUMNS; i++) {
        cell_text(session, i, text);
        size_t width = width_of(text);
        size_t padding = widths[i] - width;
        if (width) {
            add_padding(out, spaces + (columns[i].is_number ? padding : 0));
            add_plain(out, text);
            spaces = 0;
        }
        spaces += width == 0 ? widths[i] : columns[i].is_number ? 0 : padding;
        spaces += 2;
    }
    buf_add_byte(out, '\n');
}

void session_text_table(const struct etw_session_list *list, struct buf *out)
{
    size_t widths[COLUMNS];
    char text[CELL_BYTES];
    for (size_t i = 0; i < COLUMNS; i++) {
        widths[i] = strlen(columns[i].title);
        for (size_t row = 0; row < list->count; row++) {
            cell_text(&list->items[row], i, text);
            size_t width = width_of(text);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    add_row(NULL, widths, out);
    for (size_t row = 0; row < list->count; row++) {
        add_row(&list->items[row], widths, out);
    }
}

/* ---- one session ----------------------------------------------------------------------------- */

void session_text_details(const struct etw_session_state *session, struct buf *out)
{
    const struct etw_session_state *s = session;
    char guid[GUID_TEXT_SIZE];
    char mode[512];
    guid_write(&s->guid, guid);
    mode_text(s, MODES, mode, sizeof(mode));
    struct config_value_text flush = config_value_write_duration(
        (uint64_t)s->flush_ms * UINT64_C(1000000));
    buf_add_text(out, "Name                 ");
    add_plain(out, s->name);
    buf_printf(out, "\nGUID                 %.36s\n", guid);
    buf_printf(out, "Logger id            %u\n", etw_control_logger_id(s));
    const char *owner = owner_text(s);
    buf_printf(out, "Owner                %s\n", *owner ? owner : "unknown");
    buf_printf(out, "Mode                 0x%08x %s\n", s->mode, mode);
    buf_printf(out, "Clock                %s\n", clock_name(s->clock));
    if (s->file[0]) {
        buf_add_text(out, "File                 ");
        add_plain(out, s->file);
        buf_printf(out, "\nMaximum file size    %u %s\n", s->max_file_size,
            s->mode & ETW_MODE_USE_KBYTES_FOR_SIZE ? "KB" : "MB");
    }
    if (etw_control_is_system(s)) {
        buf_printf(out, "Kernel flags         0x%08x\n", s->enable_flags);
    }
    buf_printf(out, "Buffer size          %u KB\n", s->buffer_kb);
    buf_printf(out, "Minimum buffers      %u\n", s->min_buffers);
    buf_printf(out, "Maximum buffers      %u\n", s->max_buffers);
    buf_printf(out, "Flush timer          %s\n", s->flush_ms ? flush.text : "none");
    buf_printf(out, "Buffers              %u, %u of them free\n", s->buffers, s->free_buffers);
    buf_printf(out, "Written              %u\n", s->buffers_written);
    buf_printf(out, "EventsLost           %u\n", s->events_lost);
    buf_printf(out, "LogBuffersLost       %u\n", s->log_buffers_lost);
    buf_printf(out, "RealTimeBuffersLost  %u\n", s->real_time_buffers_lost);
}

void session_text_stopped(const struct etw_session_state *session, struct buf *out)
{
    add_plain(out, session->name);
    buf_printf(out,
        ": stopped, %u buffers written; lost: %u events, %u log buffers, %u real-time buffers\n",
        session->buffers_written, session->events_lost, session->log_buffers_lost,
        session->real_time_buffers_lost);
}

static void add_json_modes(const struct etw_session_state *session, struct buf *out)
{
    const char *comma = "";
    buf_printf(out, ",\"mode\":\"0x%x\",\"mode_name\":[", session->mode);
    for (size_t i = 0; i < MODES; i++) {
        if (session->mode & modes[i].bit) {
            buf_printf(out, "%s\"%s\"", comma, modes[i].name);
            comma = ",";
        }
    }
    buf_add_byte(out, ']');
}

void session_text_json(const struct etw_session_state *session, bool stopped, struct buf *out)
{
    const struct etw_session_state *s = session;
    enum session_owner owner = session_text_owner(s);
    char guid[GUID_TEXT_SIZE];
    guid_write(&s->guid, guid);
    buf_add_text(out, "{\"name\":");
    value_json_string(span_text(s->name), out);
    buf_printf(out, ",\"guid\":\"%.36s\",\"logger_id\":%u", guid, etw_control_logger_id(s));
    if (owner != SESSION_OWNER_UNKNOWN) {
        buf_printf(out, ",\"owner\":\"etwship\",\"orphan\":%s",
            owner == SESSION_OWNER_ENDED ? "true" : "false");
    }
    if (owner == SESSION_OWNER_DOUBTFUL) {
        buf_add_text(out, ",\"doubtful\":true");
    }
    if (stopped) {
        buf_add_text(out, ",\"stopped\":true");
    }
    add_json_modes(s, out);
    buf_printf(out, ",\"clock\":\"%s\"", clock_name(s->clock));
    if (s->file[0]) {
        buf_add_text(out, ",\"file\":");
        value_json_string(span_text(s->file), out);
        uint64_t bytes = s->mode & ETW_MODE_USE_KBYTES_FOR_SIZE ? 1024 : UINT64_C(1024) * 1024;
        bytes *= s->max_file_size;
        buf_printf(out, ",\"max_file_bytes\":%llu", (unsigned long long)bytes);
    }
    if (etw_control_is_system(s)) {
        buf_printf(out, ",\"kernel_flags\":\"0x%x\"", s->enable_flags);
    }
    buf_printf(out, ",\"buffer_kb\":%u,\"min_buffers\":%u,\"max_buffers\":%u,\"flush_ms\":%u",
        s->buffer_kb, s->min_buffers, s->max_buffers, s->flush_ms);
    buf_printf(out, ",\"buffers\":%u,\"free_buffers\":%u,\"buffers_written\":%u", s->buffers,
        s->free_buffers, s->buffers_written);
    buf_printf(out, ",\"events_lost\":%u,\"log_buffers_lost\":%u,\"real_time_buffers_lost\":%u}\n",
        s->events_lost, s->log_buffers_lost, s->real_time_buffers_lost);
}
