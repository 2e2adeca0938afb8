#include "support/await.h"
#include "support/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "platform/plat_thread.h"
#include "process/account_names.h"

/* A domain: the name of user N is userN, or begins with `prefix`; users from NAMELESS on have no
 * name. A closed domain answers no request until it is opened. */
struct domain {
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool shut;
    unsigned waiting; /* requests that wait for an answer */
    unsigned asked;
    enum plat_account_answer answer;
    const char *prefix;
};

enum { NAMELESS = 1000000 };

static enum plat_account_answer ask_domain(
    void *self, struct span sid, struct plat_account *ret_account)
{
    struct domain *domain = self;
    uint32_t number = load_le32(sid.data + sid.size - 4);
    plat_mutex_lock(&domain->mutex);
    domain->asked++;
    domain->waiting++;
    plat_cond_broadcast(&domain->changed);
    while (domain->shut) {
        plat_cond_wait(&domain->changed, &domain->mutex);
    }
    domain->waiting--;
    enum plat_account_answer answer = domain->answer;
    snprintf(ret_account->name, sizeof(ret_account->name), "%s%u", domain->prefix, number);
    snprintf(ret_account->domain, sizeof(ret_account->domain), "CORP");
    plat_mutex_unlock(&domain->mutex);
    return answer == PLAT_ACCOUNT_KNOWN && number >= NAMELESS ? PLAT_ACCOUNT_NONE : answer;
}

static void shut(struct domain *domain, bool is_shut)
{
    plat_mutex_lock(&domain->mutex);
    domain->shut = is_shut;
    plat_cond_broadcast(&domain->changed);
    plat_mutex_unlock(&domain->mutex);
}

static void answer_with(struct domain *domain, enum plat_account_answer answer, const char *prefix)
{
    plat_mutex_lock(&domain->mutex);
    domain->answer = answer;
    domain->prefix = prefix;
    plat_mutex_unlock(&domain->mutex);
}

static unsigned asked(struct domain *domain)
{
    plat_mutex_lock(&domain->mutex);
    unsigned count = domain->asked;
    plat_mutex_unlock(&domain->mutex);
    return count;
}

static void await_waiting(struct domain *domain)
{
    plat_mutex_lock(&domain->mutex);
    while (!domain->waiting) {
        plat_cond_wait(&domain->changed, &domain->mutex);
    }
    plat_mutex_unlock(&domain->mutex);
}

struct rig {
    struct domain domain;
    struct account_names *names;
};

static void open_rig(struct rig *rig, unsigned keep_ms)
{
    struct error err;
    *rig = (struct rig){.domain = {.answer = PLAT_ACCOUNT_KNOWN, .prefix = "user"}};
    plat_mutex_init(&rig->domain.mutex);
    plat_cond_init(&rig->domain.changed);
    rig->names = account_names_create(&(struct account_names_settings){.find = ask_domain,
                                          .find_self = &rig->domain,
                                          .known_ms = keep_ms,
                                          .none_ms = keep_ms,
                                          .failed_ms = keep_ms},
        &err);
    assert_non_null(rig->names);
}

static void close_rig(struct rig *rig)
{
    account_names_destroy(rig->names);
    plat_cond_fini(&rig->domain.changed);
    plat_mutex_fini(&rig->domain.mutex);
}

struct sid {
    uint8_t bytes[28];
};

/* S-1-5-21-1-2-3-NUMBER. */
static struct span make_sid(struct sid *sid, uint32_t number)
{
    static const uint8_t head[] = {
        1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
    memcpy(sid->bytes, head, sizeof(head));
    sid->bytes[24] = (uint8_t)number;
    sid->bytes[25] = (uint8_t)(number >> 8);
    sid->bytes[26] = (uint8_t)(number >> 16);
    sid->bytes[27] = (uint8_t)(number >> 24);
    return span_make(sid->bytes, sizeof(sid->bytes));
}

static bool find(struct rig *rig, uint32_t number, struct plat_account *account)
{
    struct sid sid;
    return account_names_find(rig->names, make_sid(&sid, number), account);
}

static void a_name_is_there_once_it_was_asked_for(void **state)
{
    (void)state;
    struct rig rig;
    struct plat_account account;
    open_rig(&rig, 0);
    shut(&rig.domain, true);
    assert_false(find(&rig, 7, &account));
    await_waiting(&rig.domain);
    /* No caller waits for the domain, and no name is requested twice. */
    assert_false(find(&rig, 7, &account));
    assert_int_equal(account_names_news(rig.names), 0);
    shut(&rig.domain, false);
    AWAIT(account_names_news(rig.names) == 1);
    assert_true(find(&rig, 7, &account));
    assert_string_equal(account.name, "user7");
    assert_string_equal(account.domain, "CORP");
    assert_int_equal(asked(&rig.domain), 1);
    close_rig(&rig);
}

static void that_an_account_does_not_exist_is_kept(void **state)
{
    (void)state;
    struct rig rig;
    struct plat_account account;
    open_rig(&rig, 0);
    assert_false(find(&rig, NAMELESS, &account));
    assert_false(find(&rig, 1, &account));
    AWAIT(account_names_news(rig.names) == 1); /* in order: the other one is answered, too */
    for (int i = 0; i < 100; i++) {
        assert_false(find(&rig, NAMELESS, &account));
    }
    assert_false(find(&rig, 2, &account));
    AWAIT(account_names_news(rig.names) == 2);
    assert_int_equal(asked(&rig.domain), 3);
    close_rig(&rig);
}

static void an_old_name_is_given_until_there_is_a_new_one(void **state)
{
    (void)state;
    struct rig rig;
    struct plat_account account;
    open_rig(&rig, 1);
    assert_false(find(&rig, 7, &account));
    AWAIT(account_names_news(rig.names) == 1);
    answer_with(&rig.domain, PLAT_ACCOUNT_FAILED, "nothing");
    AWAIT(find(&rig, 7, &account) && asked(&rig.domain) >= 3);
    assert_true(find(&rig, 7, &account));
    assert_string_equal(account.name, "user7");
    answer_with(&rig.domain, PLAT_ACCOUNT_KNOWN, "renamed");
    AWAIT(find(&rig, 7, &account) && account_names_news(rig.names) == 2);
    assert_true(find(&rig, 7, &account));
    assert_string_equal(account.name, "renamed7");
    answer_with(&rig.domain, PLAT_ACCOUNT_NONE, "");
    AWAIT(!find(&rig, 7, &account));
    close_rig(&rig);
}

/* More users at a time than there is room for: some are not looked up, and none gets another's
 * name. */
static void the_room_is_bounded(void **state)
{
    (void)state;
    enum { USERS = ACCOUNT_NAMES_MAX * 3 };
    struct rig rig;
    struct plat_account account;
    char expected[32];
    size_t known = 0;
    open_rig(&rig, 0);
    shut(&rig.domain, true);
    for (uint32_t i = 0; i < USERS; i++) {
        assert_false(find(&rig, i, &account));
    }
    shut(&rig.domain, false);
    /* Later than all waiting requests. */
    AWAIT(find(&rig, USERS, &account));
    assert_true(asked(&rig.domain) <= ACCOUNT_NAMES_MAX + 1);
    for (uint32_t i = 0; i < USERS; i++) {
        snprintf(expected, sizeof(expected), "user%u", i);
        if (find(&rig, i, &account)) {
            assert_string_equal(account.name, expected);
            known++;
        }
    }
    assert_true(known > ACCOUNT_NAMES_MAX / 2);
    close_rig(&rig);
}

static void a_domain_that_never_answers_does_not_keep_the_end_waiting(void **state)
{
    (void)state;
    static struct rig rig; /* the thread outlives the test */
    struct plat_account account;
    open_rig(&rig, 0);
    shut(&rig.domain, true);
    assert_false(find(&rig, 7, &account));
    await_waiting(&rig.domain);
    account_names_destroy(rig.names);
    /* It returns after all, and frees its memory. */
    shut(&rig.domain, false);
}

struct known {
    uint8_t bytes[20];
    size_t size;
    const char *domain;
    const char *name;
};

/* The names of "Well-known SIDs" on learn.microsoft.com. */
static const struct known well_known[] = {
    {{1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}, 12, "NT AUTHORITY", "SYSTEM"},
    {{1, 1, 0, 0, 0, 0, 0, 5, 19, 0, 0, 0}, 12, "NT AUTHORITY", "LOCAL SERVICE"},
    {{1, 1, 0, 0, 0, 0, 0, 5, 20, 0, 0, 0}, 12, "NT AUTHORITY", "NETWORK SERVICE"},
    {{1, 3, 0, 0, 0, 0, 0, 5, 90, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}, 20, "Window Manager", "DWM-2"},
    {{1, 3, 0, 0, 0, 0, 0, 5, 96, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, 20, "Font Driver Host",
        "UMFD-1"},
};

static void well_known_accounts_need_no_lookup(void **state)
{
    (void)state;
    struct plat_account account;
    for (size_t i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++) {
        const struct known *known = &well_known[i];
        assert_true(account_names_find(NULL, span_make(known->bytes, known->size), &account));
        assert_string_equal(account.name, known->name);
        assert_string_equal(account.domain, known->domain);
        for (size_t size = 0; size < known->size; size++) {
            assert_false(account_known_find(span_make(known->bytes, size), &account));
        }
        uint8_t other[20];
        memcpy(other, known->bytes, sizeof(other));
        other[7] = 16; /* labels: these numbers with another authority */
        assert_false(account_known_find(span_make(other, known->size), &account));
    }
    assert_int_equal(account_names_news(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_there_once_it_was_asked_for),
        cmocka_unit_test(that_an_account_does_not_exist_is_kept),
        cmocka_unit_test(an_old_name_is_given_until_there_is_a_new_one),
        cmocka_unit_test(the_room_is_bounded),
        cmocka_unit_test(a_domain_that_never_answers_does_not_keep_the_end_waiting),
        cmocka_unit_test(well_known_accounts_need_no_lookup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
