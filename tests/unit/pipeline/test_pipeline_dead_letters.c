#include "pipeline/deliver/dead_letters.h"
#include "platform/plat_path.h"
#include "support/pipeline_rig.h"
#include "support/temp_folder.h"
#include "support/test_letters.h"

/* Refused events in a pipeline with a catalogue that keeps them. */

static char root[TEMP_FOLDER_BYTES];

struct seen {
    bool *sequences; /* of session 0 */
    size_t events;
    size_t letters;
    const char *output;
};

static bool see(void *self, const struct dead_letter *letter)
{
    struct seen *seen = self;
    char text[64] = "";
    assert_span(letter->output, seen->output);
    assert_int_equal(letter->status, 400);
    assert_span(letter->reason, "not today");
    assert_true(letter->document.size < sizeof(text));
    memcpy(text, letter->document.data, letter->document.size);
    assert_memory_equal(text, "0:", 2);
    size_t sequence = strtoull(text + 2, NULL, 10);
    assert_true(sequence >= 1 && sequence <= seen->events);
    assert_false(seen->sequences[sequence]);
    seen->sequences[sequence] = true;
    seen->letters++;
    return true;
}

static struct dead_letters *open_letters(const char *name, char path[2 * TEMP_FOLDER_BYTES])
{
    snprintf(path, 2 * TEMP_FOLDER_BYTES, "%s/%s.db", root, name);
    return test_letters_create(path);
}

/* Every event is in one place: at the destination, or among the letters. */
static void several_workers_keep_each_refused_event_once(void **state)
{
    (void)state;
    enum { EVENTS = 20000, STEPS = 60 };
    struct fake_step steps[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        static const struct fake_step kinds[] = {{.verdict = OUTPUT_REJECTED},
            {.verdict = OUTPUT_RETRY},
            {.verdict = OUTPUT_MIXED, .delivers = 0x5555, .rejects = 0x8888},
            {.verdict = OUTPUT_DELIVERED}, {.verdict = OUTPUT_RECONNECT},
            {.verdict = OUTPUT_RETRY, .degraded = true}};
        steps[i] = kinds[i % (sizeof(kinds) / sizeof(kinds[0]))];
        steps[i].reason = "not today";
    }
    char path[2 * TEMP_FOLDER_BYTES];
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig.streams[0].max_events = 100;
    rig.outputs[0].workers = 4;
    rig.settings.dead_letters = open_letters("workers", path);
    rig_script(&rig, 0, steps, STEPS);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, EVENTS, 0));
    rig_finish(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_true(counts.dead_lettered > 0);
    assert_int_equal(counts.acked + counts.dead_lettered, EVENTS);
    assert_int_equal(counts.dropped[OUTPUT_DROP_REJECTED], 0);
    assert_false(counts.degraded);
    assert_int_equal(session_counts(&rig, 0).gaps, 0);
    struct seen seen = {.sequences = calloc(EVENTS + 1, 1), .events = EVENTS, .output = "a"};
    assert_non_null(seen.sequences);
    assert_true(rig.settings.dead_letters->ops->each(rig.settings.dead_letters, see, &seen, NULL));
    assert_int_equal(seen.letters, counts.dead_lettered);
    char *text = fake_output_text(rig.fakes[0]);
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t sequence = strtoull(line + 2, NULL, 10);
        assert_false(seen.sequences[sequence]);
        seen.sequences[sequence] = true;
    }
    for (size_t i = 1; i <= EVENTS; i++) {
        assert_true(seen.sequences[i]);
    }
    free(text);
    free(seen.sequences);
    check_received(&rig, 1, 0, 1, EVENTS);
    rig_fini(&rig);
    dead_letters_destroy(rig.settings.dead_letters);
}

/* If letters cannot be kept, no refused event is settled: the position stays before them. */
static void a_stop_while_letters_cannot_be_kept_loses_none_of_them(void **state)
{
    (void)state;
    enum { STEPS = 1000 };
    struct fake_step steps[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        steps[i] = (struct fake_step){.verdict = OUTPUT_REJECTED};
    }
    char path[2 * TEMP_FOLDER_BYTES];
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.settings.dead_letters = open_letters("blocked", path);
    assert_true(plat_path_remove(path, NULL));
    rig_script(&rig, 0, steps, STEPS);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 500, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    fake_output_wait_sends(rig.fakes[0], 5);
    pipeline_cancel(rig.pipeline);
    assert_true(pipeline_drain(rig.pipeline));
    check_ledger(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_int_equal(counts.dead_lettered, 0);
    assert_int_equal(counts.dropped[OUTPUT_DROP_STOPPED], 500);
    uint64_t sequences[MAX_SESSIONS + 1];
    struct buf checkpoint;
    buf_init(&checkpoint, 1000);
    outlet_progress(pipeline_outlet(rig.pipeline, 0), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 0);
    buf_fini(&checkpoint);
    rig_fini(&rig);
    dead_letters_destroy(rig.settings.dead_letters);
}

static int make_root(void **state)
{
    (void)state;
    return temp_folder_make(root, "pipeline_letters");
}

static int remove_root(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_workers_keep_each_refused_event_once),
        cmocka_unit_test(a_stop_while_letters_cannot_be_kept_loses_none_of_them),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
