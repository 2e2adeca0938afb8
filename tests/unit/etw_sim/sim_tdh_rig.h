#ifndef ETWSHIP_TESTS_UNIT_ETW_SIM_SIM_TDH_RIG_H
#define ETWSHIP_TESTS_UNIT_ETW_SIM_SIM_TDH_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "support/etl_mix_schema.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_tdh.h"
#include "support/temp_folder.h"

/* The functions, called like a program on Windows calls them. The tables of the sample providers
 * (etl_mix_schema.h) and tdh.h give the expected answers. */

enum { NOT_FOUND = 1168, INSUFFICIENT = 122, INVALID_DATA = 15005 };

static char folder[TEMP_FOLDER_BYTES];
static char manifest[TEMP_FOLDER_BYTES + 16];
static struct sim_tdh *tdh;

static inline int make_world(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "sim-tdh") != 0) {
        return -1;
    }
    snprintf(manifest, sizeof(manifest), "%s/sample.man", folder);
    struct buf xml;
    buf_init(&xml, 1 << 20);
    etl_mix_manifest_xml(&xml);
    FILE *f = fopen(manifest, "wb");
    bool ok = f && fwrite(xml.data, 1, xml.size, f) == xml.size;
    ok &= f && fclose(f) == 0;
    buf_fini(&xml);
    return ok ? 0 : -1;
}

static inline int drop_world(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static inline int use_manifest(void **state)
{
    (void)state;
    const char *paths[] = {manifest};
    tdh = sim_tdh_create(&(struct sim_tdh_settings){.paths = paths, .path_count = 1}, NULL);
    sim_tdh_use(tdh);
    return tdh ? 0 : -1;
}

static inline int use_nothing(void **state)
{
    (void)state;
    sim_tdh_destroy(tdh);
    tdh = NULL;
    return 0;
}

/* UTF-16 of ASCII, in one of some static buffers. */
static inline etw_char *wide(const char *text)
{
    static etw_char places[8][128];
    static size_t next;
    etw_char *place = places[next++ % 8];
    size_t i = 0;
    do {
        place[i] = (uint8_t)text[i];
    } while (text[i++]);
    return place;
}

static inline void assert_wide(const void *utf16, const char *expected)
{
    char text[256];
    size_t i = 0;
    do {
        text[i] = (char)load_le16((const uint8_t *)utf16 + 2 * i);
    } while (text[i++] && i < sizeof(text) - 1);
    text[i] = '\0';
    assert_string_equal(text, expected);
}

static inline struct etw_event_record event_of(
    const struct guid *provider, uint16_t id, uint8_t version, struct span payload)
{
    return (struct etw_event_record){.header = {.flags = EVENT_FLAG_64_BIT,
                                         .provider_id = *provider,
                                         .descriptor = {.id = id, .version = version}},
        .user_data = (void *)(uintptr_t)payload.data,
        .user_data_length = (uint16_t)payload.size};
}

static inline struct etw_event_record process_start(struct span payload)
{
    return event_of(&etl_mix_schema_process.guid, 1, 3, payload);
}

/* The whole answer; two requests without a change in between must agree. The caller frees it. */
static inline uint8_t *info_of(struct etw_event_record *record, uint32_t *ret_size)
{
    uint32_t size = 0;
    assert_int_equal(etw_sim_TdhGetEventInformation(record, 0, NULL, NULL, &size), INSUFFICIENT);
    uint8_t *info = malloc(size);
    assert_non_null(info);
    assert_int_equal(etw_sim_TdhGetEventInformation(record, 0, NULL, info, &size), 0);
    *ret_size = size;
    return info;
}

#define WITH_MANIFEST(test) cmocka_unit_test_setup_teardown(test, use_manifest, use_nothing)

#endif
