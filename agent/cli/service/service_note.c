#include "cli/service/service_note.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_path.h"
#include "service/service_control.h"

/* ---- the machine as it is -------------------------------------------------------------------- */

static enum service_start start_of(const struct service_config *config)
{
    return config->is_disabled     ? SERVICE_START_DISABLED
           : !config->is_automatic ? SERVICE_START_DEMAND
           : config->is_delayed    ? SERVICE_START_DELAYED
                                   : SERVICE_START_AUTO;
}

bool service_note_look_at_service(struct install_note *note, struct error *err)
{
    struct service_status status;
    struct service_config config;
    struct error why = {.code = ERR_NONE};
    if (!service_control_query(&status, &config, &why)) {
        return why.code == ERR_MISSING || error_set(err, why.code, "%s", why.text);
    }
    note->has_service = true;
    note->runs = status.state != SERVICE_STATE_STOPPED;
    note->start = start_of(&config);
    int account = snprintf(note->account, sizeof(note->account), "%s", config.account);
    int command = snprintf(note->command, sizeof(note->command), "%s", config.command);
    service_control_config_fini(&config);
    return (account < (int)sizeof(note->account) && command < (int)sizeof(note->command)) ||
           error_set(err, ERR_LIMIT, "the service is registered with texts that are too long");
}

bool service_note_look(const char *config, struct install_note *ret_note, struct error *err)
{
    uint64_t bytes;
    *ret_note = (struct install_note){.has_config = false};
    return plat_path_find(config, &ret_note->has_config, &bytes, err) &&
           service_note_look_at_service(ret_note, err);
}

/* ---- the note -------------------------------------------------------------------------------- */

static bool set(const char *text, struct error *err)
{
    uint32_t code = service_api_get()->set_note(text);
    return code == SERVICE_OK || service_api_fail(err, code, "the note of the installation");
}

bool service_note_write(const struct install_note *note, struct error *err)
{
    struct buf text;
    buf_init(&text, INSTALL_NOTE_MAX_BYTES);
    bool good = install_note_write(note, &text, err);
    buf_add_byte(&text, 0);
    if (good && text.failed) {
        good = error_set(err, ERR_MEMORY, "out of memory");
    } else if (good) {
        good = set((const char *)text.data, err);
    }
    buf_fini(&text);
    return good;
}

bool service_note_read(bool *ret_there, struct install_note *ret_note, struct error *err)
{
    char *text = NULL;
    struct error why;
    uint32_t code = service_api_get()->get_note(&text);
    *ret_there = code == SERVICE_OK;
    if (code != SERVICE_OK) {
        return code == SERVICE_E_FILE_NOT_FOUND ||
               service_api_fail(err, code, "the note of the installation");
    }
    bool good = install_note_read(span_text(text), ret_note, &why) ||
                error_set(err, why.code, "the note of the installation: %s", why.text);
    free(text);
    return good;
}

bool service_note_delete(struct error *err)
{
    return set(NULL, err);
}
