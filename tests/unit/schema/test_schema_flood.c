#include "schema/cache/schema_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"

#include "support/test.h"

/*
 * Events of an attacker who wants to evict the definitions of other events, or to leave no room for
 * them. Any process may write such events: types with thousands of fields, invented providers,
 * meaningless manifests, and manifests in the name of other providers.
 */
enum { WIDE_FIELDS = 4090, HOSTILE_PROCESS = 66, HONEST_PROCESS = 10 };

static struct schema_cache *create(void)
{
    static const struct schema_cache_settings settings;
    struct error err = {0};
    struct schema_cache *cache = schema_cache_create(&settings, &err);
    if (!cache) {
        fail_msg("%s", err.text);
    }
    return cache;
}

static struct guid guid_of(uint32_t number)
{
    struct guid guid = {{0xf1, 0x00, 0xd5}};
    store_le32(guid.bytes + 8, number);
    return guid;
}

/* ---- TraceLogging ---------------------------------------------------------------------------- */

/* The metadata of an event ${name} with ${fields} numbers: u16 size, tag byte, names. */
static void put_blob(struct buf *out, const char *name, unsigned fields)
{
    buf_reset(out);
    buf_add(out, "\0\0\0", 3);
    buf_add(out, name, strlen(name) + 1);
    for (unsigned i = 0; i < fields; i++) {
        char field[16];
        snprintf(field, sizeof(field), "f%x", i);
        buf_add(out, field, strlen(field) + 1);
        buf_add_byte(out, 4); /* UINT8 */
    }
    assert_false(out->failed);
    assert_true(out->size <= UINT16_MAX);
    store_le16(out->data, (uint16_t)out->size);
}

static void put_traits(struct buf *out, const char *name)
{
    buf_reset(out);
    buf_add(out, "\0\0", 2);
    buf_add(out, name, strlen(name) + 1);
    store_le16(out->data, (uint16_t)out->size);
}

struct tlg {
    struct buf blob;
    struct buf traits;
};

static void init(struct tlg *tlg)
{
    buf_init(&tlg->blob, 1 << 20);
    buf_init(&tlg->traits, 1 << 20);
}

static void fini(struct tlg *tlg)
{
    buf_fini(&tlg->blob);
    buf_fini(&tlg->traits);
}

/* The cache's definition of an event with ${tlg}; NULL: it has none. */
static const struct event_schema *find_tlg(
    struct schema_cache *cache, const struct guid *provider, const struct tlg *tlg)
{
    const struct extended_item items[] = {
        {EXTENDED_SCHEMA_TL, buf_span(&tlg->blob)},
        {EXTENDED_PROV_TRAITS, buf_span(&tlg->traits)},
    };
    const struct event_record record = {.kind = RECORD_EVENT,
        .present = RECORD_HAS_PROCESS,
        .process_id = HOSTILE_PROCESS,
        .provider = *provider,
        .time = 1000,
        .extended = items,
        .extended_count = 2};
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    return choice->count ? choice->list[0] : NULL;
}

static void assert_whole(
    const struct event_schema *schema, const char *provider, const char *event, unsigned fields)
{
    assert_non_null(schema);
    assert_span(schema->provider_name, provider);
    assert_span(schema->event_name, event);
    assert_true(schema->has_layout);
    assert_int_equal(schema->field_count, fields);
}

static void wide_types_of_one_provider_leave_room_for_all_types(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct tlg tlg;
    struct guid hostile = guid_of(1);
    struct guid honest = guid_of(2);
    init(&tlg);
    for (unsigned i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Wide%u", i);
        put_traits(&tlg.traits, "Hostile");
        put_blob(&tlg.blob, name, WIDE_FIELDS);
        assert_whole(find_tlg(cache, &hostile, &tlg), "Hostile", name, WIDE_FIELDS);
        put_traits(&tlg.traits, "Honest");
        put_blob(&tlg.blob, "Small", 3);
        assert_whole(find_tlg(cache, &honest, &tlg), "Honest", "Small", 3);
    }
    fini(&tlg);
    schema_cache_destroy(cache);
}

static void invented_providers_leave_room_for_all_types(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct tlg tlg;
    init(&tlg);
    put_traits(&tlg.traits, "Invented");
    for (uint32_t i = 0; i < 100000; i++) {
        struct guid provider = guid_of(i);
        put_blob(&tlg.blob, "Event", 20);
        assert_whole(find_tlg(cache, &provider, &tlg), "Invented", "Event", 20);
    }
    fini(&tlg);
    schema_cache_destroy(cache);
}

/* A definition that stays in use keeps its serial, by which other tables know it. */
static void a_type_in_use_outlives_a_flood_of_others(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct tlg used;
    struct tlg flood;
    struct guid honest = guid_of(0xffffffff);
    init(&used);
    init(&flood);
    put_traits(&used.traits, "Honest");
    put_blob(&used.blob, "Used", 3);
    put_traits(&flood.traits, "Invented");
    uint32_t serial = find_tlg(cache, &honest, &used)->serial;
    for (uint32_t i = 0; i < 400; i++) {
        struct guid provider = guid_of(i);
        put_blob(&flood.blob, "Wide", WIDE_FIELDS);
        find_tlg(cache, &provider, &flood);
        assert_int_equal(find_tlg(cache, &honest, &used)->serial, serial);
    }
    fini(&used);
    fini(&flood);
    schema_cache_destroy(cache);
}

/* ---- EventSource ----------------------------------------------------------------------------- */

static void learn_text(
    struct schema_cache *cache, const struct guid *provider, uint32_t process, const char *text)
{
    struct buf out;
    buf_init(&out, 1 << 24);
    buf_add(&out, "\x01\x01\x00\x5b\x01\x00\x00\x00", 8);
    buf_add(&out, text, strlen(text));
    const struct event_record record = {.kind = RECORD_EVENT,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .process_id = process,
        .provider = *provider,
        .descriptor = {.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe},
        .payload = buf_span(&out)};
    schema_cache_learn(cache, &record);
    buf_fini(&out);
}

/* A manifest of one event, 1, with the symbol ${symbol}. */
static void learn(struct schema_cache *cache, const struct guid *provider, uint32_t process,
    const char *name, const char *symbol)
{
    char guid[GUID_TEXT_SIZE];
    char text[512];
    guid_write(provider, guid);
    snprintf(text, sizeof(text),
        "<i><provider name=\"%s\" guid=\"{%.*s}\"><event value=\"1\" "
        "symbol=\"%s\"/></provider></i>",
        name, GUID_TEXT_SIZE, guid, symbol);
    learn_text(cache, provider, process, text);
}

static const struct event_schema *find(
    struct schema_cache *cache, const struct guid *provider, uint32_t process)
{
    const struct event_record record = {.kind = RECORD_EVENT,
        .present = RECORD_HAS_PROCESS,
        .process_id = process,
        .provider = *provider,
        .time = 1000,
        .descriptor = {.id = 1}};
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    return choice->count ? choice->list[0] : NULL;
}

static void what_is_learned_does_not_make_known_types_anew(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct tlg tlg;
    struct guid wide = guid_of(1);
    struct guid sender = guid_of(2);
    init(&tlg);
    put_traits(&tlg.traits, "Honest");
    put_blob(&tlg.blob, "Wide", WIDE_FIELDS);
    uint32_t serial = find_tlg(cache, &wide, &tlg)->serial;
    for (uint32_t i = 0; i < 300; i++) {
        learn(cache, &sender, i, "Sender", "S");
        const struct event_schema *schema = find_tlg(cache, &wide, &tlg);
        assert_whole(schema, "Honest", "Wide", WIDE_FIELDS);
        assert_int_equal(schema->serial, serial);
    }
    fini(&tlg);
    schema_cache_destroy(cache);
}

static void texts_that_are_no_manifests_do_not_count(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid honest = guid_of(0xffffffff);
    for (uint32_t i = 0; i < 5000; i++) {
        struct guid provider = guid_of(i);
        char text[16];
        snprintf(text, sizeof(text), "<x%08u", i);
        learn_text(cache, &provider, HOSTILE_PROCESS, text);
    }
    learn(cache, &honest, HONEST_PROCESS, "Honest", "Event");
    const struct event_schema *schema = find(cache, &honest, HONEST_PROCESS);
    assert_non_null(schema);
    assert_span(schema->event_name, "Event");
    schema_cache_destroy(cache);
}

static void manifests_of_one_process_leave_room_for_those_of_others(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid first = guid_of(0xfffffffe);
    struct guid last = guid_of(0xffffffff);
    learn(cache, &first, HONEST_PROCESS, "First", "Event");
    for (uint32_t i = 0; i < 10000; i++) {
        struct guid provider = guid_of(i);
        learn(cache, &provider, HOSTILE_PROCESS, "Hostile", "Event");
    }
    learn(cache, &last, HONEST_PROCESS, "Last", "Event");
    const struct event_schema *schema = find(cache, &first, HONEST_PROCESS);
    assert_non_null(schema);
    assert_span(schema->provider_name, "First");
    assert_span(schema->event_name, "Event");
    schema = find(cache, &last, HONEST_PROCESS);
    assert_non_null(schema);
    assert_span(schema->provider_name, "Last");
    assert_span(schema->event_name, "Event");
    schema_cache_destroy(cache);
}

/* ---- names of other providers ---------------------------------------------------------------- */

static void the_first_name_of_a_provider_stays(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid provider = guid_of(1);
    learn(cache, &provider, HONEST_PROCESS, "Honest", "Real");
    learn(cache, &provider, HOSTILE_PROCESS, "Renamed", "Fake");
    static const uint32_t processes[] = {HONEST_PROCESS, 30};
    for (size_t i = 0; i < 2; i++) {
        const struct event_schema *schema = find(cache, &provider, processes[i]);
        assert_non_null(schema);
        assert_span(schema->provider_name, "Honest");
        assert_span(schema->event_name, "Real");
    }
    const struct event_schema *own = find(cache, &provider, HOSTILE_PROCESS);
    assert_non_null(own);
    assert_span(own->provider_name, "Honest");
    assert_span(own->event_name, "Fake");
    schema_cache_destroy(cache);
}

/* The GUID of an EventSource is made from its name, unless the manifest states another one. */
static void the_name_that_a_guid_is_made_of_goes_before_the_first(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid provider = guid_from_name(span_text("Real-Name"));
    learn(cache, &provider, HOSTILE_PROCESS, "Renamed", "Fake");
    assert_span(find(cache, &provider, 30)->provider_name, "Renamed");
    learn(cache, &provider, HONEST_PROCESS, "Real-Name", "Real");
    assert_span(find(cache, &provider, 30)->provider_name, "Real-Name");
    assert_span(find(cache, &provider, 30)->event_name, "Real");
    assert_span(find(cache, &provider, HONEST_PROCESS)->provider_name, "Real-Name");
    assert_span(find(cache, &provider, HOSTILE_PROCESS)->provider_name, "Real-Name");
    learn(cache, &provider, HOSTILE_PROCESS, "Renamed-again", "Fake");
    assert_span(find(cache, &provider, 30)->provider_name, "Real-Name");
    assert_span(find(cache, &provider, 30)->event_name, "Real");
    schema_cache_destroy(cache);
}

/* Providers of Windows itself keep their names. */
static void a_manifest_does_not_rename_a_provider_of_windows(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid provider;
    assert_true(guid_parse(span_text("a0c1853b-5c40-4b15-8766-3cf1c58f985a"), &provider));
    learn(cache, &provider, HOSTILE_PROCESS, "Harmless", "Fake");
    static const uint32_t processes[] = {HONEST_PROCESS, HOSTILE_PROCESS};
    for (size_t i = 0; i < 2; i++) {
        const struct event_schema *schema = find(cache, &provider, processes[i]);
        assert_non_null(schema);
        assert_span(schema->provider_name, "Microsoft-Windows-PowerShell");
    }
    schema_cache_destroy(cache);
}

/* A manifest may define any number of providers, but counts only for the one that sent it. */
static void a_manifest_names_no_provider_but_its_own(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid sender = guid_of(1);
    struct guid other = guid_of(2);
    char guid[GUID_TEXT_SIZE];
    char text[512];
    guid_write(&other, guid);
    snprintf(text, sizeof(text),
        "<i><provider name=\"Renamed\" guid=\"{%.*s}\"><event value=\"7\"/></provider></i>",
        GUID_TEXT_SIZE, guid);
    learn_text(cache, &sender, HOSTILE_PROCESS, text);
    assert_null(find(cache, &other, HONEST_PROCESS));
    schema_cache_destroy(cache);
}

/* Two events with equal metadata, but different provider names. */
static void traits_of_one_process_do_not_rename_the_provider_of_another(void **state)
{
    (void)state;
    struct schema_cache *cache = create();
    struct guid provider = guid_of(1);
    struct tlg tlg;
    init(&tlg);
    put_blob(&tlg.blob, "Event", 2);
    for (unsigned i = 0; i < 3; i++) {
        put_traits(&tlg.traits, "Renamed");
        assert_whole(find_tlg(cache, &provider, &tlg), "Renamed", "Event", 2);
        put_traits(&tlg.traits, "Honest");
        assert_whole(find_tlg(cache, &provider, &tlg), "Honest", "Event", 2);
    }
    fini(&tlg);
    schema_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_types_of_one_provider_leave_room_for_all_types),
        cmocka_unit_test(invented_providers_leave_room_for_all_types),
        cmocka_unit_test(a_type_in_use_outlives_a_flood_of_others),
        cmocka_unit_test(what_is_learned_does_not_make_known_types_anew),
        cmocka_unit_test(texts_that_are_no_manifests_do_not_count),
        cmocka_unit_test(manifests_of_one_process_leave_room_for_those_of_others),
        cmocka_unit_test(the_first_name_of_a_provider_stays),
        cmocka_unit_test(the_name_that_a_guid_is_made_of_goes_before_the_first),
        cmocka_unit_test(a_manifest_does_not_rename_a_provider_of_windows),
        cmocka_unit_test(a_manifest_names_no_provider_but_its_own),
        cmocka_unit_test(traits_of_one_process_do_not_rename_the_provider_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
