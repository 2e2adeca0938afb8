#include "schema/cache/schema_cache.h"

#include <stdio.h>

#include "support/etl_mix_schema.h"
#include "support/etl_put.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Definitions of event 3008 of the sample provider: two packs, TRACE_EVENT_INFO, manifests that two
 * processes send, and TraceLogging metadata. */
#define PROVIDER "6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e41"

static const char first_pack[] = //
    "etwship-pack 1\n"
    "provider " PROVIDER " \"First\"\n"
    "event manifest 3008 0\n"
    "  name \"of the first pack\"\n"
    "  field \"A\" UInt32\n";
static const char second_pack[] = //
    "etwship-pack 1\n"
    "provider " PROVIDER " \"Second\"\n"
    "event manifest 3008 0\n"
    "  name \"of the second pack\"\n"
    "  field \"A\" UInt64\n";

static char folder[TEMP_FOLDER_BYTES];
static char pack_paths[2][TEMP_FOLDER_BYTES + 16];

static bool put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    bool ok = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && ok;
}

static int make_packs(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "cache") != 0) {
        return -1;
    }
    snprintf(pack_paths[0], sizeof(pack_paths[0]), "%s/z.pack", folder);
    snprintf(pack_paths[1], sizeof(pack_paths[1]), "%s/a.pack", folder);
    return put_file(pack_paths[0], first_pack) && put_file(pack_paths[1], second_pack) ? 0 : -1;
}

static int remove_packs(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static struct schema_cache *create(bool with_packs, const char *only_source)
{
    const char *const paths[] = {pack_paths[0], pack_paths[1]};
    const struct schema_cache_settings settings = {
        .sources = {.paths = paths, .path_count = with_packs ? 2 : 0}, .only_source = only_source};
    struct error err = {0};
    struct schema_cache *cache = schema_cache_create(&settings, &err);
    if (!cache) {
        fail_msg("%s", err.text);
    }
    return cache;
}

static struct event_record event_of(uint32_t process)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .process_id = process,
        .provider = etl_mix_schema_dns.guid,
        .descriptor = {.id = 3008},
        .time = 1000};
}

static void learn_embedded(struct schema_cache *cache)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    etl_mix_schema_event_info(&out, &etl_mix_schema_dns, &etl_mix_schema_dns.types[0]);
    const struct event_record record = {.kind = RECORD_CLASSIC,
        .provider = record_metadata_class,
        .descriptor = {.opcode = 32},
        .payload = buf_span(&out)};
    schema_cache_learn(cache, &record);
    buf_fini(&out);
}

static void learn_manifest_of(struct schema_cache *cache, struct event_record record,
    const char *provider, const char *symbol)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    buf_add(&out, "\x01\x01\x00\x5b\x01\x00\x00\x00", 8);
    buf_printf(&out,
        "<i><provider name=\"Sent\" guid=\"{%s}\"><event value=\"3008\" symbol=\"%s\"/>"
        "</provider></i>",
        provider, symbol);
    record.descriptor = (struct event_descriptor){.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe};
    record.payload = buf_span(&out);
    schema_cache_learn(cache, &record);
    buf_fini(&out);
}

/* A manifest in one chunk, whose event 3008 has the symbol ${symbol}. */
static void learn_manifest(struct schema_cache *cache, uint32_t process, const char *symbol)
{
    learn_manifest_of(cache, event_of(process), PROVIDER, symbol);
}

static void learn_of_another_provider(struct schema_cache *cache)
{
    struct event_record record = event_of(1);
    memset(record.provider.bytes, 0x11, sizeof(record.provider.bytes));
    learn_manifest_of(cache, record, "11111111-1111-1111-1111-111111111111", "Other");
}

static struct span name_of(struct schema_cache *cache, struct event_record record)
{
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    return choice->count ? choice->list[0]->event_name : span_text("(none)");
}

static const char *source_of(struct schema_cache *cache, struct event_record record)
{
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    return choice->count ? choice->list[0]->source : "(none)";
}

/* ---- precedence ------------------------------------------------------------------------------ */

static void files_give_their_definitions_in_the_order_of_the_settings(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    for (int i = 0; i < 3; i++) {
        struct event_record record = event_of(1);
        const struct schema_choice *choice = schema_cache_find(cache, &record);
        assert_int_equal(choice->count, 2);
        assert_span(choice->list[0]->event_name, "of the first pack");
        assert_span(choice->list[1]->event_name, "of the second pack");
        assert_true(choice->list[0]->serial != choice->list[1]->serial);
        assert_true(choice->list[0]->serial != 0);
    }
    schema_cache_destroy(cache);
}

static void files_that_were_read_once_serve_several_caches(void **state)
{
    (void)state;
    const char *const paths[] = {pack_paths[0], pack_paths[1]};
    struct error err = {0};
    struct schema_shared *files = schema_shared_create(
        &(struct schema_source_settings){.paths = paths, .path_count = 2}, &err);
    assert_non_null(files);
    const struct schema_cache_settings settings = {.shared = files};
    struct schema_cache *caches[2];
    const struct event_schema *first[2];
    struct event_record record = event_of(1);
    for (size_t i = 0; i < 2; i++) {
        caches[i] = schema_cache_create(&settings, &err);
        assert_non_null(caches[i]);
        const struct schema_choice *choice = schema_cache_find(caches[i], &record);
        assert_int_equal(choice->count, 2);
        assert_span(choice->list[0]->event_name, "of the first pack");
        assert_span(choice->list[1]->event_name, "of the second pack");
        assert_true(choice->list[0]->serial != choice->list[1]->serial);
        assert_true(choice->list[0]->serial != 0 && choice->list[1]->serial != 0);
        first[i] = choice->list[0];
    }
    assert_ptr_not_equal(first[0], first[1]);             /* each has its own serials, … */
    assert_ptr_equal(first[0]->fields, first[1]->fields); /* … and everything else is shared */

    /* Definitions of a trace come first in the cache that has learned them, and not in other
     * caches. */
    learn_manifest(caches[0], 1, "Sent");
    assert_string_equal(source_of(caches[0], record), "eventsource");
    assert_string_equal(source_of(caches[1], record), "pack");

    /* A cache that learns something forgets its answers, and then finds the same copy again. */
    learn_of_another_provider(caches[1]);
    struct event_record other = event_of(1);
    memset(other.provider.bytes, 0x11, sizeof(other.provider.bytes));
    assert_span(name_of(caches[1], other), "Other");
    assert_ptr_equal(schema_cache_find(caches[1], &record)->list[0], first[1]);
    schema_cache_destroy(caches[0]);
    schema_cache_destroy(caches[1]);
    schema_shared_destroy(files);
}

static void a_pack_in_memory_goes_before_those_of_files(void **state)
{
    (void)state;
    static const char text[] = "etwship-pack 1\nprovider " PROVIDER " \"Own\"\n"
                               "event manifest 3008 0\n  name \"built in\"\n";
    const char *const paths[] = {pack_paths[0]};
    struct schema_cache_settings settings = {
        .sources = {.paths = paths, .path_count = 1, .pack = span_text(text)}};
    struct schema_cache *cache = schema_cache_create(&settings, NULL);
    assert_non_null(cache);
    struct event_record record = event_of(1);
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 2);
    assert_span(choice->list[0]->event_name, "built in");
    assert_span(choice->list[1]->event_name, "of the first pack");
    schema_cache_destroy(cache);
}

static void what_the_trace_carries_stands_alone(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    assert_string_equal(source_of(cache, event_of(1)), "pack");
    learn_embedded(cache);
    struct event_record record = event_of(1);
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 1);
    assert_string_equal(choice->list[0]->source, "embedded");
    schema_cache_destroy(cache);
}

static void a_manifest_of_the_same_process_goes_before_embedded_metadata(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    learn_embedded(cache);
    learn_manifest(cache, 10, "One");
    for (int i = 0; i < 3; i++) {
        assert_span(name_of(cache, event_of(10)), "One");
        assert_string_equal(source_of(cache, event_of(20)), "embedded");
        /* The manifest of the other process is no second choice. */
        const struct event_record record = event_of(20);
        assert_int_equal(schema_cache_find(cache, &record)->count, 1);
    }
    schema_cache_destroy(cache);
}

static void a_manifest_of_another_process_goes_before_files(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    learn_manifest(cache, 10, "One");
    assert_span(name_of(cache, event_of(20)), "One");
    struct event_record record = event_of(20);
    assert_int_equal(schema_cache_find(cache, &record)->count, 1);
    schema_cache_destroy(cache);
}

static void processes_keep_their_versions_of_a_provider(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    learn_manifest(cache, 10, "One");
    learn_manifest(cache, 20, "Two");
    for (int i = 0; i < 3; i++) {
        assert_span(name_of(cache, event_of(10)), "One");
        assert_span(name_of(cache, event_of(20)), "Two");
        assert_span(name_of(cache, event_of(30)), "Two"); /* the latest one */
    }
    learn_manifest(cache, 30, "One");
    assert_span(name_of(cache, event_of(30)), "One");
    assert_span(name_of(cache, event_of(20)), "Two");
    assert_span(name_of(cache, event_of(40)), "One");
    schema_cache_destroy(cache);
}

static void metadata_in_the_event_goes_before_everything(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    learn_embedded(cache);
    learn_manifest(cache, 10, "One");
    const struct extended_item item = {EXTENDED_SCHEMA_TL, span_make("\x05\0\0E\0", 5)};
    struct event_record record = event_of(10);
    record.extended = &item;
    record.extended_count = 1;
    for (int i = 0; i < 3; i++) {
        assert_string_equal(source_of(cache, record), "tracelogging");
        assert_span(name_of(cache, event_of(10)), "One");
    }
    schema_cache_destroy(cache);
}

/* ---- late learning, misses ------------------------------------------------------------------- */

static void what_was_unknown_is_known_as_soon_as_it_is_learned(void **state)
{
    (void)state;
    struct schema_cache *cache = create(false, NULL);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(source_of(cache, event_of(10)), "(none)");
    }
    learn_manifest(cache, 10, "One");
    assert_span(name_of(cache, event_of(10)), "One");
    learn_embedded(cache);
    assert_string_equal(source_of(cache, event_of(20)), "embedded");
    schema_cache_destroy(cache);
}

static void an_unknown_event_of_a_known_provider_has_the_provider_s_name(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    struct event_record record = event_of(1);
    record.descriptor.id = 1;
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 1);
    assert_int_equal(choice->list[0]->kind, SCHEMA_UNKNOWN);
    assert_false(choice->list[0]->has_layout);
    assert_span(choice->list[0]->provider_name, "First");
    record.provider.bytes[0] ^= 1;
    assert_int_equal(schema_cache_find(cache, &record)->count, 0);
    schema_cache_destroy(cache);
}

/* A week of event time: retries after a miss must not use up the memory for names. */
static void a_miss_keeps_its_names_however_often_it_is_tried_again(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    struct event_record record = event_of(1);
    for (unsigned i = 0; i < 200000; i++) {
        record.descriptor.id = (uint16_t)(1 + i % 20);
        record.time += i % 20 ? 0 : UINT64_C(61) * 10000000;
        const struct schema_choice *choice = schema_cache_find(cache, &record);
        assert_int_equal(choice->count, 1);
        assert_span(choice->list[0]->provider_name, "First");
    }
    schema_cache_destroy(cache);
}

/* ---- more types than a cache keeps ----------------------------------------------------------- */

enum { MANY = 70000 }; /* more than SCHEMA_CACHE_MAX_TYPES */

static struct schema_cache *create_over(const struct schema_shared *files)
{
    struct error err = {0};
    struct schema_cache *cache = schema_cache_create(
        &(struct schema_cache_settings){.shared = files}, &err);
    assert_non_null(cache);
    return cache;
}

static void what_nothing_describes_takes_no_room_from_shared_definitions(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 16];
    snprintf(path, sizeof(path), "%s/known.tmf", folder);
    assert_true(put_file(path, PROVIDER " driver // SRC=main.c MJ= MN=\n"
                                        "#typev main_c31 10 \"%0on\" // FUNC=run\n{\n}\n"));
    const char *const paths[] = {path, pack_paths[0]};
    struct error err = {0};
    struct schema_shared *files = schema_shared_create(
        &(struct schema_source_settings){.paths = paths, .path_count = 2}, &err);
    assert_non_null(files);
    struct schema_cache *cache = create_over(files);
    struct event_record record = event_of(1);
    record.kind = RECORD_MESSAGE;
    for (unsigned i = 0; i < MANY; i++) {
        record.provider.bytes[15] = (uint8_t)(0x80 + i / 65536); /* PROVIDER ends with 41 */
        record.descriptor.id = (uint16_t)i;
        const struct schema_choice *choice = schema_cache_find(cache, &record);
        assert_int_equal(choice->count, 1);
        assert_int_equal(choice->list[0]->kind, SCHEMA_WPP);
        assert_false(choice->list[0]->has_layout);
        assert_int_equal(choice->list[0]->descriptor.id, (uint16_t)i);
    }
    record.provider = etl_mix_schema_dns.guid;
    record.descriptor.id = 10;
    assert_span(name_of(cache, record), "run");
    assert_span(name_of(cache, event_of(1)), "of the first pack");
    schema_cache_destroy(cache);
    schema_shared_destroy(files);
}

static void a_cache_full_of_shared_definitions_starts_again(void **state)
{
    (void)state;
    struct buf pack;
    buf_init(&pack, 1 << 24);
    buf_printf(&pack, "etwship-pack 1\n");
    for (unsigned i = 0; i < MANY; i++) {
        if (i % 65536 == 0) {
            buf_printf(&pack, "provider 00000000-0000-0000-0000-00000000000%u \"P\"\n", i / 65536);
        }
        buf_printf(&pack, "event manifest %u 0\n  name \"%u\"\n", i % 65536, i);
    }
    assert_false(pack.failed);
    struct error err = {0};
    struct schema_shared *files = schema_shared_create(
        &(struct schema_source_settings){.pack = buf_span(&pack)}, &err);
    assert_non_null(files);
    struct schema_cache *cache = create_over(files);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            struct event_record record = event_of(1);
            record.provider = (struct guid){.bytes = {[15] = (uint8_t)(i / 65536)}};
            record.descriptor.id = (uint16_t)i;
            char name[16];
            snprintf(name, sizeof(name), "%u", i);
            assert_span(name_of(cache, record), name);
        }
    }
    schema_cache_destroy(cache);
    schema_shared_destroy(files);
    buf_fini(&pack);
}

/* ---- TraceLogging ---------------------------------------------------------------------------- */

static void blobs_of_one_size_are_never_mistaken_for_each_other(void **state)
{
    (void)state;
    struct schema_cache *cache = create(false, NULL);
    enum { BLOBS = 676 };
    char blobs[BLOBS][6];
    for (size_t n = 0; n < BLOBS * 4; n++) {
        size_t i = n % 2 ? n * 7 % BLOBS : n % BLOBS;
        char name[3] = {(char)('A' + i / 26), (char)('a' + i % 26), '\0'};
        memcpy(blobs[i], "\x06\0\0", 3);
        memcpy(blobs[i] + 3, name, 3);
        const struct extended_item item = {EXTENDED_SCHEMA_TL, span_make(blobs[i], 6)};
        struct event_record record = event_of(1);
        record.extended = &item;
        record.extended_count = 1;
        assert_span(name_of(cache, record), name);
        memset(blobs[i], 0xee, 6); /* the trace's memory is gone */
    }
    schema_cache_destroy(cache);
}

static void one_blob_of_two_providers_is_two_types(void **state)
{
    (void)state;
    struct schema_cache *cache = create(false, NULL);
    const struct extended_item item = {EXTENDED_SCHEMA_TL, span_make("\x05\0\0E\0", 5)};
    struct event_record record = event_of(1);
    record.extended = &item;
    record.extended_count = 1;
    uint32_t first = schema_cache_find(cache, &record)->list[0]->serial;
    record.provider.bytes[3] ^= 1;
    const struct event_schema *second = schema_cache_find(cache, &record)->list[0];
    assert_true(second->serial != first);
    assert_true(guid_equal(&second->provider, &record.provider));
    schema_cache_destroy(cache);
}

static void empty_metadata_is_not_the_manifest_event_of_that_id(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    const struct extended_item item = {EXTENDED_SCHEMA_TL, span_make("", 0)};
    struct event_record record = event_of(1);
    record.extended = &item;
    record.extended_count = 1;
    const char *alone = source_of(cache, record);
    assert_string_equal(source_of(cache, event_of(1)), "pack");
    assert_string_equal(source_of(cache, record), alone);
    assert_string_equal(source_of(cache, event_of(1)), "pack");
    schema_cache_destroy(cache);
}

/* ---- kinds of records ------------------------------------------------------------------------ */

static void kinds_with_equal_ids_are_different_types(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    assert_string_equal(source_of(cache, event_of(1)), "pack");
    struct event_record record = event_of(1);
    record.kind = RECORD_MESSAGE;
    assert_string_equal(source_of(cache, record), "wpp");
    record.kind = RECORD_OPAQUE;
    assert_string_equal(source_of(cache, record), "(none)");
    record.kind = RECORD_CLASSIC;
    assert_string_equal(source_of(cache, record), "(none)");
    record = event_of(1);
    record.flags = EVENT_FLAG_STRING_ONLY;
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    assert_int_equal(choice->count, 1);
    assert_int_equal(choice->list[0]->kind, SCHEMA_STRING);
    assert_string_equal(source_of(cache, event_of(1)), "pack");
    schema_cache_destroy(cache);
}

static void classes_differ_by_type_and_version(void **state)
{
    (void)state;
    struct schema_cache *cache = create(false, NULL);
    struct event_record record = {.kind = RECORD_KERNEL,
        .hook_id = 0x0301,
        .descriptor = {.opcode = 1, .version = 4},
        .time = 1000};
    assert_true(guid_parse(span_text("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), &record.provider));
    assert_span(name_of(cache, record), "Process/Start");
    record.hook_id = 0x0302;
    record.descriptor.opcode = 2;
    assert_span(name_of(cache, record), "Process/End");
    record.hook_id = 0x0301;
    record.descriptor.opcode = 1;
    assert_span(name_of(cache, record), "Process/Start");
    schema_cache_destroy(cache);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void a_source_can_be_used_alone(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, "embedded");
    assert_string_equal(source_of(cache, event_of(1)), "(none)");
    learn_manifest(cache, 1, "One");
    assert_string_equal(source_of(cache, event_of(1)), "(none)");
    learn_embedded(cache);
    assert_string_equal(source_of(cache, event_of(1)), "embedded");
    schema_cache_destroy(cache);
    cache = create(true, "pack");
    learn_embedded(cache);
    assert_string_equal(source_of(cache, event_of(1)), "pack");
    schema_cache_destroy(cache);
}

static void an_unknown_source_is_an_error_with_its_name(void **state)
{
    (void)state;
    const struct schema_cache_settings settings = {.only_source = "tdhh"};
    struct error err = {0};
    assert_null(schema_cache_create(&settings, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_non_null(strstr(err.text, "'tdhh'"));
    schema_cache_destroy(NULL);
}

static void sources_are_told_in_their_order(void **state)
{
    (void)state;
    static const char *const names[] = {"tracelogging", "eventsource", "embedded", "kernel", "mof",
        "manifest", "binary", "pack", "tdh", "builtin", "wpp"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_string_equal(schema_source_set_name(i), names[i]);
    }
    assert_null(schema_source_set_name(sizeof(names) / sizeof(names[0])));
}

static void count_pack(void *self, const struct event_schema *schema)
{
    *(size_t *)self += strcmp(schema->source, "pack") == 0;
}

static void everything_known_is_listed(void **state)
{
    (void)state;
    struct schema_cache *cache = create(true, NULL);
    size_t count = 0;
    schema_cache_list(cache, count_pack, &count);
    assert_int_equal(count, 2);
    schema_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_give_their_definitions_in_the_order_of_the_settings),
        cmocka_unit_test(files_that_were_read_once_serve_several_caches),
        cmocka_unit_test(a_pack_in_memory_goes_before_those_of_files),
        cmocka_unit_test(what_the_trace_carries_stands_alone),
        cmocka_unit_test(a_manifest_of_the_same_process_goes_before_embedded_metadata),
        cmocka_unit_test(a_manifest_of_another_process_goes_before_files),
        cmocka_unit_test(processes_keep_their_versions_of_a_provider),
        cmocka_unit_test(metadata_in_the_event_goes_before_everything),
        cmocka_unit_test(what_was_unknown_is_known_as_soon_as_it_is_learned),
        cmocka_unit_test(an_unknown_event_of_a_known_provider_has_the_provider_s_name),
        cmocka_unit_test(a_miss_keeps_its_names_however_often_it_is_tried_again),
        cmocka_unit_test(what_nothing_describes_takes_no_room_from_shared_definitions),
        cmocka_unit_test(a_cache_full_of_shared_definitions_starts_again),
        cmocka_unit_test(blobs_of_one_size_are_never_mistaken_for_each_other),
        cmocka_unit_test(one_blob_of_two_providers_is_two_types),
        cmocka_unit_test(empty_metadata_is_not_the_manifest_event_of_that_id),
        cmocka_unit_test(kinds_with_equal_ids_are_different_types),
        cmocka_unit_test(classes_differ_by_type_and_version),
        cmocka_unit_test(a_source_can_be_used_alone),
        cmocka_unit_test(an_unknown_source_is_an_error_with_its_name),
        cmocka_unit_test(sources_are_told_in_their_order),
        cmocka_unit_test(everything_known_is_listed),
    };
    return cmocka_run_group_tests(tests, make_packs, remove_packs);
}
