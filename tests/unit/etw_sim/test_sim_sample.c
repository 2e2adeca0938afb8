#include "support/test.h"

#include "decode/decode.h"
#include "schema/cache/schema_cache.h"
#include "support/etw_sim/sim_sample.h"

/* Two implementations of each type: the agent's decoder takes the made-up payload to its last byte,
 * for every event of the kernel table, with pointers of both widths. */
struct fixture {
    struct decoder decoder;
    uint8_t pointer_size;
    size_t checked;
};

static void decode_sample(void *self, const struct event_schema *schema)
{
    struct fixture *f = self;
    const struct sim_sample sample = {
        .seed = f->checked, .process_id = 42, .thread_id = 46, .pointer_size = f->pointer_size};
    struct buf payload;
    buf_init(&payload, 1 << 16);
    if (schema->has_layout) {
        assert_true(sim_sample_payload(&payload, schema, &sample));
        const struct event_record record = {.kind = RECORD_KERNEL,
            .pointer_size = f->pointer_size,
            .provider = schema->class_guid,
            .descriptor = schema->descriptor,
            .payload = buf_span(&payload)};
        struct event event;
        decoder_run(&f->decoder, &record, schema, f->pointer_size, &event);
        if (event.status != DECODE_COMPLETE) {
            fail_msg("%.*s v%u: %s", SPAN_ARG(schema->event_name), schema->descriptor.version,
                event.status == DECODE_PARTIAL ? event.error : "residue");
        }
        f->checked++;
    } else {
        assert_false(sim_sample_payload(&payload, schema, &sample));
    }
    buf_fini(&payload);
}

static void the_decoder_takes_what_is_made_up_to_its_last_byte(void **state)
{
    (void)state;
    const struct schema_cache_settings settings = {.only_source = "kernel"};
    struct schema_cache *cache = schema_cache_create(&settings, NULL);
    struct fixture f = {.pointer_size = 8};
    assert_non_null(cache);
    assert_true(decoder_init(&f.decoder, NULL));
    schema_cache_list(cache, decode_sample, &f);
    assert_true(f.checked > 500);
    f.pointer_size = 4;
    schema_cache_list(cache, decode_sample, &f);
    decoder_fini(&f.decoder);
    schema_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_decoder_takes_what_is_made_up_to_its_last_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
