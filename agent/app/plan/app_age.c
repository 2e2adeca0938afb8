#include "app/plan/app_age.h"

#include <stdio.h>

#include "base/filetime.h"
#include "base/put.h"
#include "config/config_text.h"
#include "input/etl/etl_file.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"

enum {
    MOST_FILES = 100, /* that are looked at */
    HEADER_BYTES = 64 * 1024,
    PATH_BYTES = 512,
    DATE_BYTES = 10, /* 2026-11-21 */
};

/* What the traces of a session say. */
struct ages {
    uint64_t oldest; /* FILETIME that the destination still takes */
    size_t files;    /* looked at */
    size_t known;    /* whose header says when they end */
    size_t old;      /* that end before `oldest` */
    char path[PATH_BYTES];
    uint64_t end; /* of the first of them */
};

/* When the trace ends, FILETIME; 0: its header does not say so. */
static uint64_t end_of(const char *path)
{
    struct etl_handles handles = {.open = 0};
    struct arena arena;
    arena_init(&arena, HEADER_BYTES);
    struct etl_file *file = etl_file_open(path, NULL, &handles, &arena, NULL);
    uint64_t end = file ? etl_file_info(file)->end_time : 0;
    etl_file_destroy(file);
    arena_fini(&arena);
    return end;
}

static bool on_path(void *self, const char *path)
{
    struct ages *ages = self;
    uint64_t end = end_of(path);
    ages->files++;
    ages->known += end != 0;
    if (end && end < ages->oldest) {
        if (!ages->old) {
            snprintf(ages->path, sizeof(ages->path), "%s", path);
            ages->end = end;
        }
        ages->old++;
    }
    return ages->files < MOST_FILES;
}

static void look(const struct app_session *session, struct ages *ages)
{
    const struct config_strings *paths = app_config_paths(session);
    for (size_t i = 0; paths && i < paths->count && ages->files < MOST_FILES; i++) {
        plat_glob(paths->items[i], on_path, ages, NULL);
    }
}

static bool is_one_trace(const struct app_session *session)
{
    const struct config_strings *paths = app_config_paths(session);
    return paths && paths->count == 1 && !strpbrk(paths->items[0], "*?");
}

/* "2 of 3 traces, as a.etl, end more than 7 days ago (2026-11-21). " or nothing. */
static void write_old(const struct ages *ages, uint64_t days, char *text, size_t size)
{
    uint8_t date[PUT_MAX];
    put_filetime_or_hex(date, ages->end);
    text[0] = '\0';
    if (ages->old) {
        snprintf(text, size, "%zu of %zu traces end more than %llu days ago, as %s (%.*s). ",
            ages->old, ages->files, (unsigned long long)days,
            config_text_quote(span_text(ages->path)).text, DATE_BYTES, (const char *)date);
    }
}

void app_age_warn(
    const struct app_config *config, const struct app_output *output, struct config_report *report)
{
    for (size_t i = 0; output->ops->refuses_old && i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        if (!session->enabled || !session->ops->replayable || !app_config_takes(output, session)) {
            continue;
        }
        uint64_t days = output->ops->refuses_older_days;
        struct ages ages = {.oldest = plat_now_filetime() - days * 24 * 3600 * FILETIME_PER_S};
        char old[2 * PATH_BYTES];
        look(session, &ages);
        if (is_one_trace(session) && ages.known == 1 && !ages.old) {
            continue;
        }
        write_old(&ages, days, old, sizeof(old));
        config_error_at(config->memory, output, sizeof(*output), report,
            "output %s gets the recorded traces of session %s: %s%s", output->name, session->name,
            old, output->ops->refuses_old);
    }
}
