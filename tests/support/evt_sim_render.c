#include <string.h>

#include "base/buf.h"
#include "etw/etw_text.h"
#include "platform/plat_clock.h"
#include "support/evt_sim_own.h"
#include "support/evt_sim_xml.h"

/* Records of the simulated Event Log as XML, as values and in words. */

enum { XML_BYTES = 256 * 1024 };

static int32_t give_text(
    const char *text, uint32_t size, void *buffer, uint32_t *ret_used, uint32_t *ret_count)
{
    static evt_char wide[XML_BYTES];
    size_t units;
    if (!etw_text_encode(span_text(text), wide, XML_BYTES, &units)) {
        return evt_sim_fail(EVT_ERROR_INVALID_PARAMETER);
    }
    uint32_t bytes = (uint32_t)(units + 1) * 2;
    *ret_used = bytes;
    *ret_count = 0;
    if (bytes > size) {
        return evt_sim_fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    memcpy(buffer, wide, bytes);
    return 1;
}

static int32_t give_values(const struct sim_record *record, uint32_t size, uint8_t *buffer,
    uint32_t *ret_used, uint32_t *ret_count)
{
    const struct evt_sim_event *e = &record->event;
    size_t used = e->data_count * sizeof(struct evt_variant);
    for (size_t i = 0; i < e->data_count; i++) {
        used += e->data[i].type == 1 ? 2 * strlen(e->data[i].text) + 2 : 0;
    }
    *ret_used = (uint32_t)used;
    *ret_count = (uint32_t)e->data_count;
    if (used > size) {
        return evt_sim_fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    struct evt_variant *variants = (void *)buffer;
    evt_char *text = (evt_char *)(void *)(variants + e->data_count);
    for (size_t i = 0; i < e->data_count; i++) {
        const struct evt_sim_data *data = &e->data[i];
        variants[i] = (struct evt_variant){.type = data->type};
        variants[i].value.u64 = data->number + (evt_sim_state.wrong_values ? 1 : 0);
        if (data->type == 1) {
            size_t units;
            etw_text_encode(span_text(data->text), text, 2 * strlen(data->text) + 1, &units);
            variants[i].value.text = text;
            text += units + 1;
        }
    }
    return 1;
}

int32_t evt_sim_render(evt_handle context, evt_handle fragment, uint32_t flags, uint32_t size,
    void *buffer, uint32_t *ret_used, uint32_t *ret_count)
{
    const struct sim_handle *handle = fragment;
    struct buf out;
    int32_t good;
    if (evt_sim_state.slow_ms) {
        plat_sleep_ms(evt_sim_state.slow_ms);
    }
    evt_sim_enter();
    if (flags == EVT_RENDER_EVENT_VALUES) {
        good = context ? give_values(&handle->record, size, buffer, ret_used, ret_count)
                       : evt_sim_fail(EVT_ERROR_INVALID_PARAMETER);
        return evt_sim_leave(good);
    }
    if (flags == EVT_RENDER_EVENT_XML && handle->record.id == evt_sim_state.fail_render) {
        return evt_sim_leave(evt_sim_fail(EVT_ERROR_INVALID_PARAMETER));
    }
    buf_init(&out, XML_BYTES);
    if (flags == EVT_RENDER_BOOKMARK) {
        buf_printf(&out,
            "<BookmarkList>\r\n  <Bookmark Channel='%s' RecordId='%llu' IsCurrent='true'/>\r\n"
            "</BookmarkList>",
            handle->channel->name, (unsigned long long)handle->record.id);
    } else {
        evt_sim_xml_write(&handle->record.event, handle->record.id, handle->channel->name, &out);
    }
    buf_add_byte(&out, 0);
    good = give_text((const char *)out.data, size, buffer, ret_used, ret_count);
    buf_fini(&out);
    return evt_sim_leave(good);
}

evt_handle evt_sim_create_context(uint32_t count, const evt_char *const *paths, uint32_t flags)
{
    (void)count;
    (void)paths;
    (void)flags;
    evt_sim_enter();
    struct sim_handle *handle = evt_sim_make(SIM_CONTEXT, NULL);
    evt_sim_leave(0);
    return handle;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* A provider whose name begins with `Missing` is not registered; one with `Locked` may not be
 * opened. */
evt_handle evt_sim_open_publisher(evt_handle session, const evt_char *publisher,
    const evt_char *file, uint32_t locale, uint32_t flags)
{
    (void)session;
    (void)file;
    (void)flags;
    evt_sim_enter();
    evt_sim_state.publishers++;
    evt_sim_state.locale = locale;
    if (evt_sim_state.publisher_code) {
        return evt_sim_fail_handle(evt_sim_state.publisher_code);
    }
    if (publisher[0] == 'M' && publisher[1] == 'i' && publisher[2] == 's') {
        return evt_sim_fail_handle(EVT_ERROR_PUBLISHER_NOT_FOUND);
    }
    if (publisher[0] == 'L' && publisher[1] == 'o' && publisher[2] == 'c') {
        return evt_sim_fail_handle(EVT_ERROR_ACCESS_DENIED);
    }
    struct sim_handle *handle = evt_sim_make(SIM_PUBLISHER, NULL);
    evt_sim_leave(0);
    return handle;
}

int32_t evt_sim_format_message(evt_handle publisher, evt_handle event, uint32_t message,
    uint32_t value_count, const struct evt_variant *values, uint32_t flags, uint32_t size,
    evt_char *buffer, uint32_t *ret_used)
{
    const struct sim_handle *handle = event;
    size_t units = 0;
    (void)publisher, (void)message, (void)value_count, (void)values;
    if (flags != EVT_FORMAT_MESSAGE_EVENT) {
        return evt_sim_fail(EVT_ERROR_INVALID_PARAMETER);
    }
    if (!handle->record.event.message) {
        return evt_sim_fail(EVT_ERROR_MESSAGE_NOT_FOUND);
    }
    *ret_used = (uint32_t)strlen(handle->record.event.message) + 1;
    if (!etw_text_encode(span_text(handle->record.event.message), buffer, size, &units)) {
        return evt_sim_fail(EVT_ERROR_INSUFFICIENT_BUFFER);
    }
    return handle->record.event.message_code ? evt_sim_fail(handle->record.event.message_code) : 1;
}
