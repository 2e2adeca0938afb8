#define _GNU_SOURCE
#include "support/await.h"
#include "support/test.h"

#include <stdio.h>

#include "schema/cache/schema_cache.h"
#include "schema/windows/tdh_registry.h"
#include "support/decode_json.h"
#include "support/etl_mix_payload.h"
#include "support/etl_mix_schema.h"
#include "support/etw_sim/sim_tdh.h"
#include "support/temp_folder.h"
#include "unit/schema/tdh_fake.h"

/* The sample providers are registered on a simulated machine by their manifest: TDH's definitions
 * of their events are those of the manifest. */
static char folder[TEMP_FOLDER_BYTES];
static char manifest[TEMP_FOLDER_BYTES + 16];
static char pack[TEMP_FOLDER_BYTES + 16];
static struct sim_tdh *tdh;

static bool put_file(const char *path, struct span text)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(text.data, 1, text.size, f) == text.size;
    return f && fclose(f) == 0 && ok;
}

/* A pack with another definition of the first process event. */
static bool put_pack(void)
{
    char text[512];
    char guid[GUID_TEXT_SIZE];
    guid_write(&etl_mix_schema_process.guid, guid);
    const struct event_descriptor *d = &etl_mix_schema_process.types[0].descriptor;
    snprintf(text, sizeof(text),
        "etwship-pack 1\nprovider %.36s \"of the pack\"\nevent manifest %u %u\n  field \"A\" "
        "UInt8\n",
        guid, d->id, d->version);
    return put_file(pack, span_text(text));
}

static int make_files(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "tdh") != 0) {
        return -1;
    }
    snprintf(manifest, sizeof(manifest), "%s/sample.man", folder);
    snprintf(pack, sizeof(pack), "%s/other.pack", folder);
    struct buf xml;
    buf_init(&xml, 1 << 20);
    etl_mix_manifest_xml(&xml);
    bool ok = put_file(manifest, buf_span(&xml)) && put_pack();
    buf_fini(&xml);
    return ok ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static int use_machine(void **state)
{
    (void)state;
    const char *paths[] = {manifest};
    tdh = sim_tdh_create(&(struct sim_tdh_settings){.paths = paths, .path_count = 1}, NULL);
    sim_tdh_use(tdh);
    tdh_fake_use();
    return tdh ? 0 : -1;
}

static int drop_machine(void **state)
{
    (void)state;
    etw_api_use(NULL);
    sim_tdh_destroy(tdh);
    tdh = NULL;
    return 0;
}

static struct schema_cache *create(const struct schema_cache_settings *settings)
{
    struct error err = {0};
    struct schema_cache *cache = schema_cache_create(settings, &err);
    if (!cache) {
        fail_msg("%s", err.text);
    }
    return cache;
}

static struct event_record record_of(
    const struct etl_mix_provider *provider, const struct etl_mix_type *type)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .pointer_size = 8,
        .time = 132000000000000000,
        .provider = provider->guid,
        .descriptor = type->descriptor};
}

static struct event_record process_start(void)
{
    return record_of(&etl_mix_schema_process, &etl_mix_schema_process.types[0]);
}

static const struct event_schema *only_of(struct schema_cache *cache, struct event_record record)
{
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 1);
    return choice->list[0];
}

static void assert_same_text(struct span a, struct span b)
{
    if (!span_equal(a, b)) {
        fail_msg("'%.*s' is not '%.*s'", SPAN_ARG(a), SPAN_ARG(b));
    }
}

static void assert_same(
    const struct event_schema *a, const struct event_schema *b, struct span payload)
{
    assert_string_equal(a->source, "tdh");
    assert_int_equal(a->kind, SCHEMA_MANIFEST);
    assert_same_text(a->provider_name, b->provider_name);
    assert_same_text(a->task_name, b->task_name);
    assert_same_text(a->opcode_name, b->opcode_name);
    assert_same_text(a->level_name, b->level_name);
    assert_same_text(a->channel_name, b->channel_name);
    assert_same_text(a->message, b->message);
    assert_true(a->keyword_count > 0);
    struct buf texts[2];
    for (size_t i = 0; i < 2; i++) {
        buf_init(&texts[i], 1 << 20);
        decode_json(i ? b : a, payload, 8, &texts[i]);
    }
    assert_true(texts[0].size > 2);
    assert_same_text(buf_span(&texts[0]), buf_span(&texts[1]));
    buf_fini(&texts[0]);
    buf_fini(&texts[1]);
}

static void what_tdh_says_is_what_the_manifest_says(void **state)
{
    (void)state;
    static const struct {
        const struct etl_mix_provider *provider;
        enum etl_mix_kind kind;
        size_t type;
    } events[] = {
        {&etl_mix_schema_dns, MIX_DNS_COMPLETED, 0},
        {&etl_mix_schema_process, MIX_PROCESS_START, 0},
        {&etl_mix_schema_process, MIX_PROCESS_STOP, 1},
    };
    const char *paths[] = {manifest};
    struct schema_cache *asks = create(&(struct schema_cache_settings){.only_source = "tdh"});
    struct schema_cache *reads = create(&(struct schema_cache_settings){
        .sources = {.paths = paths, .path_count = 1}, .only_source = "manifest"});
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct etl_mix_source source = {.random = 1 + i, .pointer_size = 8};
        struct buf payload;
        buf_init(&payload, 1 << 16);
        etl_mix_payload_add(&source, events[i].kind, &payload);
        struct event_record record = record_of(
            events[i].provider, &events[i].provider->types[events[i].type]);
        record.payload = buf_span(&payload);
        assert_same(only_of(asks, record), only_of(reads, record), record.payload);
        buf_fini(&payload);
    }
    schema_cache_destroy(reads);
    schema_cache_destroy(asks);
}

static void it_is_asked_only_where_that_was_wanted(void **state)
{
    (void)state;
    struct schema_cache *cache = create(&(struct schema_cache_settings){.only_source = NULL});
    struct event_record record = process_start();
    assert_int_equal(schema_cache_find(cache, &record)->count, 0);
    assert_int_equal(tdh_fake_calls(), 0);
    schema_cache_destroy(cache);
}

static void it_ranks_before_or_behind_files(void **state)
{
    (void)state;
    static const struct {
        enum schema_tdh tdh;
        const char *sources[2];
    } cases[] = {
        {SCHEMA_TDH_LAST, {"pack", "tdh"}},
        {SCHEMA_TDH_FIRST, {"tdh", "pack"}},
    };
    const char *paths[] = {pack};
    for (size_t i = 0; i < 2; i++) {
        struct schema_cache *cache = create(&(struct schema_cache_settings){
            .sources = {.paths = paths, .path_count = 1}, .tdh = cases[i].tdh});
        struct event_record record = process_start();
        const struct schema_choice *choice = schema_cache_find(cache, &record);
        assert_int_equal(choice->count, 2);
        assert_string_equal(choice->list[0]->source, cases[i].sources[0]);
        assert_string_equal(choice->list[1]->source, cases[i].sources[1]);
        schema_cache_destroy(cache);
    }
}

static void a_type_is_asked_for_once_for_all_caches(void **state)
{
    (void)state;
    struct schema_shared *shared = schema_shared_create(
        &(struct schema_source_settings){.paths = NULL}, NULL);
    struct schema_cache *caches[3];
    assert_non_null(shared);
    unsigned calls = 0;
    for (size_t i = 0; i < 3; i++) {
        caches[i] = create(
            &(struct schema_cache_settings){.shared = shared, .tdh = SCHEMA_TDH_LAST});
        for (size_t k = 0; k < 10; k++) {
            only_of(caches[i], process_start());
        }
        calls = calls ? calls : tdh_fake_calls();
        assert_int_equal(tdh_fake_calls(), calls);
    }
    assert_int_equal(tdh_fake.map_calls, 1);
    struct event_record unknown = process_start();
    unknown.descriptor.id = 999;
    for (size_t i = 0; i < 3; i++) {
        const struct schema_choice *choice = schema_cache_find(caches[i], &unknown);
        assert_int_equal(choice->count, 1); /* the provider's name, from learned definitions */
        assert_int_equal(choice->list[0]->kind, SCHEMA_UNKNOWN);
        assert_span(choice->list[0]->provider_name, etl_mix_schema_process.name);
        assert_int_equal(tdh_fake_calls(), calls + 1);
    }
    for (size_t i = 0; i < 3; i++) {
        schema_cache_destroy(caches[i]);
    }
    schema_shared_destroy(shared);
}

static void built_in_classes_need_no_other_source(void **state)
{
    (void)state;
    struct schema_cache *cache = create(&(struct schema_cache_settings){.tdh = SCHEMA_TDH_LAST});
    struct event_record record = {.kind = RECORD_CLASSIC, .pointer_size = 8};
    assert_true(guid_parse(span_text("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), &record.provider));
    record.descriptor.opcode = 1;
    record.descriptor.version = 3;
    assert_true(schema_cache_find(cache, &record)->count > 0);
    assert_int_equal(tdh_fake_calls(), 0);
    schema_cache_destroy(cache);
}

static void a_system_without_tdh_knows_nothing(void **state)
{
    (void)state;
    tdh_fake.api = (struct etw_api){.TdhGetEventInformation = NULL};
    struct schema_cache *cache = create(&(struct schema_cache_settings){.only_source = "tdh"});
    struct event_record record = process_start();
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 0);
    assert_false(choice->late);
    schema_cache_destroy(cache);
}

/* A machine that lists more than it describes. */
static uint32_t one_more_event(
    const struct guid *provider, struct etw_provider_events *ret_events, uint32_t *bytes)
{
    uint32_t room = *bytes;
    uint32_t inner = room > sizeof(struct event_descriptor)
                         ? room - (uint32_t)sizeof(struct event_descriptor)
                         : 0;
    uint32_t code = etw_sim_TdhEnumerateManifestProviderEvents(provider, ret_events, &inner);
    *bytes = inner + (uint32_t)sizeof(struct event_descriptor);
    if (code == 0) {
        const struct event_descriptor unknown = {.id = 4321};
        memcpy((uint8_t *)ret_events + inner, &unknown, sizeof(unknown));
        ret_events->count++;
    }
    return code;
}

static void use_registry(void)
{
    tdh_fake.api.TdhEnumerateProviders = etw_sim_TdhEnumerateProviders;
    tdh_fake.api.TdhEnumerateProviderFieldInformation =
        etw_sim_TdhEnumerateProviderFieldInformation;
    tdh_fake.api.TdhEnumerateManifestProviderEvents = one_more_event;
    tdh_fake.api.TdhGetManifestEventInformation = etw_sim_TdhGetManifestEventInformation;
}

static bool has_bits(const struct event_schema *schema)
{
    bool found = false;
    for (size_t i = 0; i < schema->keyword_count; i++) {
        found |= schema->keywords[i].mask == 0x10 && span_is(schema->keywords[i].name, "PROCESS");
    }
    return found;
}

static void all_registered_events_are_told(void **state)
{
    (void)state;
    struct error err = {0};
    struct tdh_registry registry;
    use_registry();
    tdh_registry_init(&registry);
    assert_true(tdh_registry_add_all(&registry, &err));
    assert_false(registry.failed);
    assert_int_equal(
        registry.count, etl_mix_schema_dns.type_count + etl_mix_schema_process.type_count);
    assert_int_equal(registry.unknown, 2);
    for (size_t i = 0; i < registry.count; i++) {
        const struct event_schema *schema = registry.schemas[i];
        assert_true(schema->has_layout);
        assert_true(
            has_bits(schema) == guid_equal(&schema->provider, &etl_mix_schema_process.guid));
    }
    tdh_registry_fini(&registry);

    tdh_fake.api = (struct etw_api){.TdhEnumerateProviders = NULL};
    tdh_registry_init(&registry);
    assert_false(tdh_registry_add_all(&registry, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    tdh_registry_fini(&registry);
}

/* With less and less memory, there is a moment when only the bits of keywords are missing. */
static void keywords_without_memory_are_a_failure(void **state)
{
    (void)state;
    enum { STEP = 64 };
    struct tdh_registry registry;
    size_t without_bits = 0;
    use_registry();
    tdh_registry_init(&registry);
    tdh_registry_add(&registry, &etl_mix_schema_process.guid);
    assert_false(registry.failed);
    size_t count = registry.count;
    size_t bytes = registry.ask.arena.used_bytes;
    tdh_registry_fini(&registry);
    for (bool has_events = true; has_events; bytes -= STEP) {
        tdh_registry_init(&registry);
        registry.ask.arena.max_bytes = bytes;
        tdh_registry_add(&registry, &etl_mix_schema_process.guid);
        has_events = registry.count == count;
        if (has_events && !has_bits(registry.schemas[0])) {
            assert_true(registry.failed);
            without_bits++;
        }
        tdh_registry_fini(&registry);
    }
    assert_true(without_bits > 0);
}

static void what_comes_late_is_decoded_from_then_on(void **state)
{
    (void)state;
    tdh_fake_close(true);
    struct schema_cache *cache = create(&(struct schema_cache_settings){.tdh = SCHEMA_TDH_LAST});
    struct event_record record = process_start();
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 0);
    assert_true(choice->late);
    for (size_t i = 0; i < 1000; i++) { /* no thread waits for it again */
        assert_true(schema_cache_find(cache, &record)->late);
    }
    tdh_fake_close(false);
    AWAIT(!schema_cache_find(cache, &record)->late);
    assert_string_equal(only_of(cache, record)->source, "tdh");
    schema_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_tdh_says_is_what_the_manifest_says, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(
            it_is_asked_only_where_that_was_wanted, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(it_ranks_before_or_behind_files, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(
            a_type_is_asked_for_once_for_all_caches, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(
            built_in_classes_need_no_other_source, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(
            a_system_without_tdh_knows_nothing, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(all_registered_events_are_told, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(
            keywords_without_memory_are_a_failure, use_machine, drop_machine),
        cmocka_unit_test_setup_teardown(
            what_comes_late_is_decoded_from_then_on, use_machine, drop_machine),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
