#include "input/windows/session/etw_guard_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/filetime.h"
#include "etw/enable/etw_keywords.h"

static void say(char detail[ETW_GUARD_DETAIL], const char *format, ...) ETWSHIP_PRINTF(2, 3);

/* Append one item, separated by a comma. */
static void say(char detail[ETW_GUARD_DETAIL], const char *format, ...)
{
    size_t used = strlen(detail);
    va_list args;
    va_start(args, format);
    if (used && used + 2 < ETW_GUARD_DETAIL) {
        memcpy(detail + used, ", ", 3);
        used += 2;
    }
    vsnprintf(detail + used, ETW_GUARD_DETAIL - used, format, args);
    va_end(args);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void judge_real_time(const struct etw_session_state *was,
    const struct etw_session_state *now, struct etw_guard_settings *ret)
{
    bool wanted = was->mode & ETW_MODE_REAL_TIME;
    bool is_so = now->mode & ETW_MODE_REAL_TIME;
    if (wanted && !is_so) {
        ret->worse = true;
        ret->change.set_real_time = true;
        ret->change.real_time = true;
        say(ret->detail, "its events are not delivered live any more");
    } else if (is_so && !wanted) {
        ret->other = true;
        say(ret->detail, "its events are also delivered live");
    }
}

void etw_guard_judge_settings(const struct etw_session_state *was,
    const struct etw_session_state *now, struct etw_guard_settings *ret_settings)
{
    struct etw_guard_settings *ret = ret_settings;
    memset(ret, 0, sizeof(*ret));
    judge_real_time(was, now, ret);
    if (now->flush_ms != was->flush_ms) {
        ret->worse = ret->worse || now->flush_ms > was->flush_ms;
        ret->other = ret->other || now->flush_ms < was->flush_ms;
        ret->change.set_flush = now->flush_ms > was->flush_ms;
        ret->change.flush_ms = was->flush_ms;
        say(ret->detail, "flush was set from %u to %u ms", was->flush_ms, now->flush_ms);
    }
    if (now->max_buffers != was->max_buffers) {
        ret->worse = ret->worse || now->max_buffers < was->max_buffers;
        ret->other = ret->other || now->max_buffers > was->max_buffers;
        ret->change.set_max_buffers = now->max_buffers < was->max_buffers;
        ret->change.max_buffers = was->max_buffers;
        say(ret->detail, "the maximum of buffers was set from %u to %u", was->max_buffers,
            now->max_buffers);
    }
    ret->mends = ret->worse;
    bool numbers_files = was->mode & ETW_MODE_NEWFILE;
    if (!numbers_files && strcmp(now->file, was->file) != 0) {
        ret->other = true;
        say(ret->detail, "its file is now %.200s", now->file[0] ? now->file : "none");
    }
}

bool etw_guard_judge_groups(const struct etw_groups *wanted, const struct etw_groups *was,
    const struct etw_groups *now, struct etw_groups *ret_lost)
{
    uint32_t any = 0;
    for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
        ret_lost->words[i] = wanted->words[i] & was->words[i] & ~now->words[i];
        any |= ret_lost->words[i];
    }
    return any != 0;
}

/* ---- providers ------------------------------------------------------------------------------- */

/* Properties that let fewer events through. EXCLUDE_INPRIVATE does so, too, but Windows sometimes
 * adds it itself. */
static const uint32_t restrictive = ETW_ENABLE_IGNORE_KEYWORD_0;

static bool is_scoped(const struct etw_request *request)
{
    return request->pid_count || request->executables.count || request->packages.count ||
           request->apps.count || request->container.count;
}

static uint8_t level_of(uint8_t level)
{
    return level ? level : UINT8_MAX;
}

static bool is_narrowed(const struct etw_request *request, const struct etw_provider_enabled *was,
    const struct etw_provider_enabled *now, char detail[ETW_GUARD_DETAIL])
{
    uint8_t level = level_of(request->level);
    uint64_t any = etw_keywords_any(request);
    uint64_t all = etw_keywords_all(request);
    level = level < was->level ? level : was->level;
    if (now->level < level) {
        say(detail, "level %u instead of %u", now->level, level);
    }
    if (any & was->any & ~now->any) {
        say(detail, "keywords 0x%llx instead of 0x%llx", (unsigned long long)now->any,
            (unsigned long long)was->any);
    }
    if (now->all & ~was->all & ~all) {
        say(detail, "all keywords of 0x%llx demanded", (unsigned long long)now->all);
    }
    uint32_t lost = request->properties & was->properties & ~now->properties & ~restrictive;
    uint32_t gained = now->properties & ~was->properties & ~request->properties & restrictive;
    if (lost || gained) {
        say(detail, "properties 0x%x instead of 0x%x", now->properties, was->properties);
    }
    return detail[0] != 0;
}

enum etw_guard_enabled etw_guard_judge_provider(const struct etw_request *request,
    const struct etw_provider_enabled *was, const struct etw_provider_enabled *now,
    char ret_detail[ETW_GUARD_DETAIL])
{
    ret_detail[0] = 0;
    bool is_group = request->properties & ETW_ENABLE_PROVIDER_GROUP;
    if (!was->known || !now->known || is_group || now->instances == 0) {
        return ETW_GUARD_ENABLED;
    }
    if (now->entries == 0) {
        /* Windows did not list the session right after enabling, so it never does */
        bool is_told = was->instances == 0 || was->entries > 0;
        return is_told && !is_scoped(request) ? ETW_GUARD_DISABLED : ETW_GUARD_ENABLED;
    }
    /* a provider that registered later was never seen enabled, so only the request counts */
    struct etw_provider_enabled asked = {.level = UINT8_MAX,
        .properties = request->properties,
        .any = UINT64_MAX,
        .all = request->all};
    return is_narrowed(request, was->entries ? was : &asked, now, ret_detail) ? ETW_GUARD_NARROWED
                                                                              : ETW_GUARD_ENABLED;
}

/* ---- the consumer ---------------------------------------------------------------------------- */

bool etw_guard_judge_pace(struct etw_guard_pace *pace, const struct etw_guard_reading *reading,
    char ret_detail[ETW_GUARD_DETAIL])
{
    const struct etw_session_state *state = reading->state;
    bool no_buffer = state->free_buffers == 0 && state->buffers >= state->max_buffers;
    uint32_t lost = pace->known ? state->real_time_buffers_lost - pace->buffers_lost : 0;
    bool was_behind = pace->behind;
    ret_detail[0] = 0;
    if (lost) {
        say(ret_detail, "%u buffers were lost because they were not read in time", lost);
    }
    if (no_buffer && pace->no_buffer) { /* twice in a row: a single moment does not count */
        say(ret_detail, "all %u buffers are full", state->max_buffers);
    }
    if (pace->known && reading->lag_ms > reading->limit_ms) {
        say(ret_detail, "events are read %llu s after they were written",
            (unsigned long long)(reading->lag_ms / 1000));
    }
    *pace = (struct etw_guard_pace){.known = true,
        .behind = ret_detail[0] != 0,
        .no_buffer = no_buffer,
        .buffers_lost = state->real_time_buffers_lost};
    if (!pace->behind || was_behind) {
        return false;
    }
    say(ret_detail,
        "more or bigger buffers (now at most %u of %u KB), fewer events or a faster "
        "output help",
        state->max_buffers, state->buffer_kb);
    return true;
}

/* ---- the clock ------------------------------------------------------------------------------- */

int64_t etw_guard_judge_clock(struct etw_guard_clock *clock, int64_t counter, uint64_t time,
    uint64_t frequency, uint64_t limit_ms)
{
    struct etw_guard_clock was = *clock;
    *clock = (struct etw_guard_clock){.known = frequency != 0, .counter = counter, .time = time};
    if (!was.known || frequency == 0 || counter < was.counter) {
        return 0;
    }
    uint64_t ticks = (uint64_t)counter - (uint64_t)was.counter;
    uint64_t passed = ticks / frequency * 1000 * FILETIME_PER_MS +
                      ticks % frequency * 1000 / frequency * FILETIME_PER_MS;
    uint64_t expected = was.time + passed;
    uint64_t off_ms = (time > expected ? time - expected : expected - time) / FILETIME_PER_MS;
    if (off_ms < limit_ms || off_ms > INT64_MAX) {
        return 0;
    }
    return time > expected ? (int64_t)off_ms : -(int64_t)off_ms;
}
