#include "store/chains.h"

#include "base/bytes.h"
#include "store/chain_own.h"
#include "unit/store/catalogue_rig.h"

/* Chains over a catalogue that the test provides. */

/* A catalogue may return more ids than fit: the first ones count, the others come again. */
static void of_early_ids_no_more_are_read_than_an_output_may_have(void **state)
{
    (void)state;
    enum { COUNT = STORE_EARLY_MAX + 1 };
    static uint8_t early[COUNT * sizeof(uint64_t)];
    for (size_t i = 0; i < COUNT; i++) {
        store_le64(early + i * sizeof(uint64_t), 10 + i);
    }
    struct catalogue *catalogue = rig_create();
    const struct catalogue_output output = {.id = 1,
        .name = span_text("siem"),
        .position = 5,
        .early = span_make(early, sizeof(early))};
    struct chains *chains = chains_create();
    assert_non_null(chains);
    rig_begin(catalogue);
    assert_good(catalogue_put_output(catalogue, &output, &rig_err));
    rig_commit(catalogue);
    assert_good(chains_load(chains, catalogue, &rig_err));
    const struct chain *chain = chains_find(chains, span_text("siem"));
    assert_non_null(chain);
    assert_int_equal(chain->early_count, STORE_EARLY_MAX);
    assert_int_equal(chain->early[STORE_EARLY_MAX - 1], 10 + STORE_EARLY_MAX - 1);
    chains_destroy(chains);
    catalogue_close(catalogue);
}

static void the_range_that_an_output_reads_is_kept_when_it_is_drained(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct chains *chains = chains_create();
    struct error err = {0};
    assert_non_null(chains);
    struct chain *chain = chains_add(chains, span_text("siem"), &err);
    assert_non_null(chain);
    assert_true(chain_extend(chain, 1, span_text("json"), 0, &err));
    assert_good(chains_trim(chains, catalogue, 0, &rig_err));
    assert_int_equal(chain->range_count - chain->first_range, 1);
    assert_true(chain_extend(chain, 2, span_text("ecs"), 4, &err));
    assert_int_equal(chain->range_count - chain->first_range, 2);
    assert_good(chains_trim(chains, catalogue, 4, &rig_err));
    assert_int_equal(chain->range_count - chain->first_range, 1);
    assert_int_equal(chain_last_range(chain)->stream, 2);
    chains_destroy(chains);
    catalogue_close(catalogue);
}

/* The catalogue identifies outputs by their ids. */
static void a_new_output_has_an_id_that_none_of_the_catalogue_has(void **state)
{
    (void)state;
    static const uint64_t ids[] = {1, 7, 3};
    struct error err = {0};
    for (size_t known = 1; known <= sizeof(ids) / sizeof(ids[0]); known++) {
        struct catalogue *catalogue = rig_create();
        struct chains *chains = chains_create();
        assert_non_null(chains);
        rig_begin(catalogue);
        for (size_t i = 0; i < known; i++) {
            const char name[] = {(char)('a' + i), '\0'};
            const struct catalogue_output output = {.id = ids[i], .name = span_text(name)};
            assert_good(catalogue_put_output(catalogue, &output, &rig_err));
        }
        rig_commit(catalogue);
        assert_good(chains_load(chains, catalogue, &rig_err));
        const struct chain *added = chains_add(chains, span_text("new"), &err);
        assert_non_null(added);
        for (size_t i = 0; i < known; i++) {
            assert_true(added->id != ids[i]);
        }
        chains_destroy(chains);
        catalogue_close(catalogue);
        rig_remove_folder(NULL);
        rig_make_folder(NULL);
    }
}

static void a_name_may_be_as_long_as_it_says_and_no_longer(void **state)
{
    (void)state;
    static uint8_t name[STORE_NAME_MAX + 1];
    struct chains *chains = chains_create();
    struct error err = {0};
    assert_non_null(chains);
    memset(name, 'n', sizeof(name));
    assert_non_null(chains_add(chains, span_make(name, STORE_NAME_MAX), &err));
    assert_null(chains_add(chains, span_make(name, STORE_NAME_MAX + 1), &err));
    assert_int_equal(err.code, ERR_LIMIT);
    chains_destroy(chains);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_may_be_as_long_as_it_says_and_no_longer),
        cmocka_unit_test_setup_teardown(a_new_output_has_an_id_that_none_of_the_catalogue_has,
            rig_make_folder, rig_remove_folder),
        cmocka_unit_test_setup_teardown(of_early_ids_no_more_are_read_than_an_output_may_have,
            rig_make_folder, rig_remove_folder),
        cmocka_unit_test_setup_teardown(the_range_that_an_output_reads_is_kept_when_it_is_drained,
            rig_make_folder, rig_remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
