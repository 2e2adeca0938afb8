#include "process/file_names.h"

#include <stdio.h>

#include "support/test.h"

static const struct file_key key = {.machine = 7, .address = 0xffffe00123456780};
static const struct volume_map no_volumes;

static void init(struct file_names *names, size_t max_bytes, bool forward)
{
    const struct file_names_settings settings = {.max_bytes = max_bytes, .forward = forward};
    assert_true(file_names_init(names, &settings));
}

static void tell(struct file_names *names, enum file_told what, uint64_t time, const char *path)
{
    file_names_tell(names, &key, what, time, span_text(path));
}

/* The path at that time. Both ends of the interval must have it, too. */
static void expect_of(
    struct file_names *names, const struct file_key *of, uint64_t time, const char *path)
{
    struct file_answer answer;
    file_names_find(names, of, time, &no_volumes, &answer);
    struct file_path *found = answer.path;
    assert_true(answer.from <= time && time <= answer.to);
    assert_true(file_names_is_current(names, of, answer.stamp));
    assert_span(found ? span_make(found->text, found->size) : span_make(NULL, 0), path);
    const uint64_t ends[] = {answer.from, answer.to};
    for (size_t i = 0; i < 2; i++) {
        struct file_answer again;
        file_names_find(names, of, ends[i], &no_volumes, &again);
        assert_ptr_equal(again.path, found);
        file_path_drop(again.path);
    }
    file_path_drop(found);
}

static void expect(struct file_names *names, uint64_t time, const char *path)
{
    expect_of(names, &key, time, path);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void a_rundown_names_what_was_before_it(void **state)
{
    (void)state;
    struct file_names names;
    init(&names, 1 << 20, false);
    expect(&names, 5, "");
    tell(&names, FILE_HOLDS, 100, "\\a");
    expect(&names, 0, "\\a");
    expect(&names, 100, "\\a");
    expect(&names, UINT64_MAX, "\\a");
    file_names_fini(&names);
}

static void an_address_is_used_again(void **state)
{
    (void)state;
    struct file_names names;
    init(&names, 1 << 20, false);
    tell(&names, FILE_ENDS, 10, "\\a");
    tell(&names, FILE_BEGINS, 20, "\\b");
    tell(&names, FILE_ENDS, 30, "\\b");
    tell(&names, FILE_HOLDS, 50, "\\c");
    expect(&names, 0, "\\a");
    expect(&names, 10, "\\a");
    expect(&names, 11, "");
    expect(&names, 19, "");
    expect(&names, 20, "\\b");
    expect(&names, 30, "\\b");
    expect(&names, 31, "\\c");
    expect(&names, 60, "\\c");
    file_names_fini(&names);
}

static void no_name_holds_between_two_that_differ(void **state)
{
    (void)state;
    struct file_names names;
    init(&names, 1 << 20, false);
    tell(&names, FILE_BEGINS, 10, "\\before");
    tell(&names, FILE_HOLDS, 20, "\\before");
    tell(&names, FILE_HOLDS, 30, "\\renamed");
    expect(&names, 9, "");
    expect(&names, 20, "\\before");
    expect(&names, 21, "");
    expect(&names, 29, "");
    expect(&names, 30, "\\renamed");
    file_names_fini(&names);
}

static void an_end_without_a_name_ends_any(void **state)
{
    (void)state;
    struct file_names names;
    init(&names, 1 << 20, false);
    tell(&names, FILE_ENDS, 40, "");
    tell(&names, FILE_BEGINS, 30, "\\b");
    tell(&names, FILE_ENDS, 20, "");
    tell(&names, FILE_BEGINS, 10, "\\a");
    expect(&names, 9, "");
    expect(&names, 20, "\\a");
    expect(&names, 21, "");
    expect(&names, 40, "\\b");
    expect(&names, 41, "");
    file_names_fini(&names);
}

static void forward_names_hold_from_when_they_were_told(void **state)
{
    (void)state;
    struct file_names names;
    init(&names, 1 << 20, true);
    tell(&names, FILE_ENDS, 5, "\\x");
    assert_int_equal(names.count, 0);
    tell(&names, FILE_HOLDS, 10, "\\a");
    tell(&names, FILE_ENDS, 20, "\\a");
    expect(&names, 9, "");
    expect(&names, 10, "\\a");
    expect(&names, 20, "\\a");
    expect(&names, 21, "");
    file_names_fini(&names);
}

static void machines_have_addresses_of_their_own(void **state)
{
    (void)state;
    struct file_names names;
    const struct file_key other = {.machine = key.machine + 1, .address = key.address};
    init(&names, 1 << 20, false);
    tell(&names, FILE_HOLDS, 10, "\\a");
    file_names_tell(&names, &other, FILE_HOLDS, 10, span_text("\\b"));
    expect(&names, 10, "\\a");
    expect_of(&names, &other, 10, "\\b");
    file_names_fini(&names);
}

static void paths_have_drives_once_they_are_known(void **state)
{
    (void)state;
    struct file_names names;
    struct volume_map volumes = {.count = 0};
    struct file_answer answer;
    init(&names, 1 << 20, false);
    tell(&names, FILE_HOLDS, 10, "\\Device\\HarddiskVolume3\\a");
    expect(&names, 10, "\\Device\\HarddiskVolume3\\a");
    assert_true(volume_map_add(
        &volumes, key.machine, span_text("\\Device\\HarddiskVolume3"), span_text("C:")));
    file_names_volumes_changed(&names);
    for (size_t i = 0; i < 2; i++) {
        file_names_find(&names, &key, 10, &volumes, &answer);
        assert_span(span_make(answer.path->text, answer.path->size), "C:\\a");
        file_path_drop(answer.path);
    }
    file_names_fini(&names);
    volume_map_fini(&volumes);
}

/* ---- any order ------------------------------------------------------------------------------- */

struct told {
    enum file_told what;
    uint64_t time;
    const char *path;
};

enum { MAX_TOLD = 8, TIMES = 20, TRIES = 3000 };

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

/* The rule of file_names.h as written there, on an unordered list. Times are unique. */
static const char *model(const struct told *list, size_t count, uint64_t time)
{
    const struct told *before = NULL;
    const struct told *after = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct told *told = &list[i];
        bool is_before = told->what == FILE_ENDS ? told->time < time : told->time <= time;
        if (is_before && (!before || told->time > before->time)) {
            before = told;
        }
        if (!is_before && (!after || told->time < after->time)) {
            after = told;
        }
    }
    const char *held = before && before->what != FILE_ENDS ? before->path : "";
    const char *next = after && after->what != FILE_BEGINS ? after->path : "";
    if (*held && *next && strcmp(held, next) != 0) {
        return before->time == time ? held : after->time == time ? next : "";
    }
    return *held ? held : next;
}

static void the_order_of_telling_does_not_matter(void **state)
{
    (void)state;
    static const char *const paths[] = {"\\a", "\\b", "\\c"};
    uint64_t seed = 1;
    size_t named = 0;
    for (size_t i = 0; i < TRIES; i++) {
        struct told list[MAX_TOLD];
        size_t count = 1 + draw(&seed, MAX_TOLD);
        for (size_t k = 0; k < count; k++) {
            list[k].what = (enum file_told)draw(&seed, 3);
            list[k].time = 2 * k + 1 + draw(&seed, 2);
            bool is_nameless = list[k].what == FILE_ENDS && draw(&seed, 2);
            list[k].path = is_nameless ? "" : paths[draw(&seed, 3)];
        }
        struct file_names names;
        init(&names, 1 << 20, false);
        for (size_t told = 0; told < 3 * count; told++) { /* shuffled, and some repeated */
            size_t k = told < count ? told : draw(&seed, (uint32_t)count);
            if (told < count) {
                size_t other = told + draw(&seed, (uint32_t)(count - told));
                const struct told swapped = list[k];
                list[k] = list[other];
                list[other] = swapped;
            }
            tell(&names, list[k].what, list[k].time, list[k].path);
        }
        for (uint64_t time = 0; time < TIMES; time++) {
            const char *path = model(list, count, time);
            expect(&names, time, path);
            named += *path != 0;
        }
        file_names_fini(&names);
        assert_int_equal(names.bytes, names.mask ? (names.mask + 1) * sizeof(void *) + 8192 : 0);
    }
    assert_true(named > TRIES);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

enum { SMALL = 64 * 1024, MANY = 2000 };

static struct file_key nth(uint64_t n)
{
    return (struct file_key){.machine = 1, .address = 0x1000 + n * 0x40};
}

static void tell_nth(struct file_names *names, uint64_t n, enum file_told what, uint64_t time)
{
    char path[64];
    const struct file_key of = nth(n);
    snprintf(path, sizeof(path), "\\Device\\HarddiskVolume1\\%u", (unsigned)n);
    file_names_tell(names, &of, what, time, span_text(path));
    assert_true(names->bytes <= names->settings.max_bytes);
}

static void what_ended_first_is_forgotten_first(void **state)
{
    (void)state;
    struct file_names names;
    init(&names, SMALL, false);
    const struct file_key first = nth(0);
    tell_nth(&names, 0, FILE_BEGINS, 1);
    tell_nth(&names, 1, FILE_BEGINS, 1);
    tell_nth(&names, 1, FILE_ENDS, 2);
    for (uint64_t n = 2; names.evicted == 0 && n < MANY; n++) {
        tell_nth(&names, n, FILE_BEGINS, n);
    }
    const struct file_key ended = nth(1);
    assert_int_equal(names.evicted, 1);
    expect_of(&names, &first, 5, "\\Device\\HarddiskVolume1\\0");
    expect_of(&names, &ended, 2, "");
    /* The facts about it are incomplete now, so none of them reaches back beyond that. */
    tell_nth(&names, 1, FILE_HOLDS, 50);
    expect_of(&names, &ended, 49, "");
    expect_of(&names, &ended, 50, "\\Device\\HarddiskVolume1\\1");
    file_names_fini(&names);
}

static void the_table_keeps_to_its_room(void **state)
{
    (void)state;
    for (unsigned forward = 0; forward < 2; forward++) {
        struct file_names names;
        init(&names, SMALL, forward);
        for (uint64_t n = 0; n < MANY; n++) {
            tell_nth(&names, n, n % 3 ? FILE_BEGINS : FILE_HOLDS, n);
        }
        assert_int_equal(names.count + names.evicted, MANY);
        assert_true(names.count > 100);
        /* One address takes no more room than others. */
        for (uint64_t n = 0; n < 3 * MANY; n++) {
            tell_nth(&names, MANY, n % 2 ? FILE_ENDS : FILE_BEGINS, n);
        }
        const struct file_key of = nth(MANY);
        expect_of(&names, &of, 3 * MANY - 1, forward ? "\\Device\\HarddiskVolume1\\2000" : "");
        file_names_fini(&names);
    }
}

/* Addresses of one slot, which a hostile trace may choose. */
static void chains_stay_short(void **state)
{
    (void)state;
    enum { CHAIN = 256, HOSTILE = 1000 };
    struct file_names names;
    init(&names, 16 << 20, false);
    uint64_t address = 1;
    for (size_t n = 0; n < HOSTILE; address++) {
        const struct file_key of = {.machine = 0, .address = address};
        if ((file_names_hash(&of) >> 24 & 0xffff) == 0) {
            file_names_tell(&names, &of, FILE_HOLDS, 1, span_text("\\a"));
            n++;
        }
    }
    assert_int_equal(names.count, CHAIN);
    assert_int_equal(names.evicted, HOSTILE - CHAIN);
    file_names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rundown_names_what_was_before_it),
        cmocka_unit_test(an_address_is_used_again),
        cmocka_unit_test(no_name_holds_between_two_that_differ),
        cmocka_unit_test(an_end_without_a_name_ends_any),
        cmocka_unit_test(forward_names_hold_from_when_they_were_told),
        cmocka_unit_test(machines_have_addresses_of_their_own),
        cmocka_unit_test(paths_have_drives_once_they_are_known),
        cmocka_unit_test(the_order_of_telling_does_not_matter),
        cmocka_unit_test(what_ended_first_is_forgotten_first),
        cmocka_unit_test(the_table_keeps_to_its_room),
        cmocka_unit_test(chains_stay_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
