#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/sddl.h"
#include "trust/trust_path.h"
#include "trust/trust_words.h"

#define ELSEWHERE "use a folder of the agent's own: /etc/etwship, /var/lib/etwship"
#define ELSEWHERE_WINDOWS \
    "use a folder of the agent's own: %ProgramFiles%\\etwship, %ProgramData%\\etwship"

#define DIR PLAT_RIGHTS_FOLDER
#define REG PLAT_RIGHTS_FILE
#define LNK PLAT_RIGHTS_LINK

/* A file system in a table: paths without a line do not exist. */
struct place {
    const char *path;
    enum plat_rights_kind kind;
    const char *rights; /* Linux: "owner:group mode", Windows: SDDL; NULL: refused */
    const char *target; /* of a link */
};

enum { MAX_LINK_BYTES = 256 };

static uint8_t *copy(const void *bytes, size_t size)
{
    uint8_t *made = malloc(size + 1);
    assert_non_null(made);
    memcpy(made, bytes, size);
    return made;
}

/* [MS-FSCC] 2.1.2.4 */
static size_t make_symlink(uint8_t out[MAX_LINK_BYTES], const char *target)
{
    size_t size = strlen(target) * 2;
    memset(out, 0, MAX_LINK_BYTES);
    memcpy(out, "\x0c\x00\x00\xa0", 4);
    out[4] = (uint8_t)(12 + size);
    out[10] = (uint8_t)size;
    out[16] = strncmp(target, "\\??\\", 4) != 0; /* relative */
    for (size_t i = 0; target[i]; i++) {
        out[20 + i * 2] = (uint8_t)target[i];
    }
    return 20 + size;
}

static const struct place *find(const struct place *places, const char *path)
{
    while (places->path && strcmp(places->path, path) != 0) {
        places++;
    }
    return places->path ? places : NULL;
}

static bool look_linux(
    void *self, const char *path, struct plat_rights *ret_rights, struct error *err)
{
    const struct place *place = find(self, path);
    struct plat_rights rights = {.kind = place ? place->kind : PLAT_RIGHTS_NONE};
    if (place && !place->rights) {
        return error_set(err, ERR_IO, "refused");
    }
    if (place) {
        assert_int_equal(
            sscanf(place->rights, "%u:%u %o", &rights.owner, &rights.group, &rights.mode), 3);
        rights.is_folder = place->kind == PLAT_RIGHTS_FOLDER;
    }
    if (place && place->target) {
        rights.link_bytes = strlen(place->target);
        rights.link = copy(place->target, rights.link_bytes);
    }
    *ret_rights = rights;
    return true;
}

static bool look_windows(
    void *self, const char *path, struct plat_rights *ret_rights, struct error *err)
{
    const struct place *place = find(self, path);
    struct plat_rights rights = {.kind = place ? place->kind : PLAT_RIGHTS_NONE};
    uint8_t bytes[SDDL_MAX_BYTES];
    if (place && !place->rights) {
        return error_set(err, ERR_IO, "refused");
    }
    if (place) {
        rights.descriptor_bytes = sddl_encode(place->rights, bytes);
        assert_true(rights.descriptor_bytes > 0);
        rights.descriptor = copy(bytes, rights.descriptor_bytes);
        rights.is_folder = place->kind == PLAT_RIGHTS_FOLDER;
    }
    if (place && place->target) {
        rights.link_bytes = make_symlink(bytes, place->target);
        rights.link = copy(bytes, rights.link_bytes);
        rights.is_folder = true;
    }
    *ret_rights = rights;
    return true;
}

struct one {
    const char *path;
    enum trust_use use;
    const char *expected; /* the report; NULL: trusted */
};

static void expect_all(const struct trust_system *system, const struct one *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        static struct trust_finding finding;
        struct buf words;
        buf_init(&words, 8192);
        bool trusted = trust_path_judge(system, cases[i].path, cases[i].use, &finding);
        if (!trusted) {
            trust_words_write(system, &finding, &words);
        }
        buf_add_byte(&words, 0);
        assert_string_equal((const char *)words.data, cases[i].expected ? cases[i].expected : "");
        assert_int_equal(trusted, cases[i].expected == NULL);
        buf_fini(&words);
    }
}

static void on_linux_every_folder_and_link_on_the_way_counts(void **state)
{
    (void)state;
    static const struct place places[] = {
        {"/", DIR, "0:0 755", NULL},
        {"/etc", DIR, "0:0 755", NULL},
        {"/etc/e.yaml", REG, "0:0 644", NULL},
        {"/etc/open.yaml", REG, "0:0 666", NULL},
        {"/tmp", DIR, "0:0 1777", NULL},
        {"/tmp/mine", DIR, "0:0 700", NULL},
        {"/tmp/mine/e.yaml", REG, "0:0 644", NULL},
        {"/tmp/his", DIR, "1000:1000 755", NULL},
        {"/tmp/his/e.yaml", REG, "0:0 644", NULL},
        {"/tmp/his link", LNK, "1000:1000 777", "/etc"},
        {"/srv", DIR, "0:50 2775", NULL},
        {"/srv/e.yaml", REG, "0:0 644", NULL},
        {"/etc/away", LNK, "0:0 777", "../srv/e.yaml"},
        {"/etc/abs", LNK, "0:0 777", "/tmp/mine"},
        {"/etc/abs2", LNK, "0:0 777", "abs"},
        {"/etc/loop", LNK, "0:0 777", "loop"},
        {"/etc/via", LNK, "0:0 777", "/tmp/his link/e.yaml"},
        {"/etc/pipe", PLAT_RIGHTS_OTHER, "0:0 666", NULL},
        {"/etc/secret", DIR, NULL, NULL},
        {"/opt", DIR, "0:0 777", NULL},
        {"/etc/his.yaml", REG, "1000:1000 644", NULL},
        {"/etc/open.d", DIR, "0:0 777", NULL},
        {"/etc/tmp", DIR, "0:0 1777", NULL},
        {"/etc/tmp/mine", DIR, "0:0 755", NULL},
        {NULL, DIR, NULL, NULL},
    };
    static const struct one cases[] = {
        {"/etc/e.yaml", TRUST_FILE, NULL},
        {"//etc/./x/..///e.yaml", TRUST_FILE, NULL},
        {"/etc/../../etc/e.yaml", TRUST_FILE, NULL},
        {"/etc", TRUST_FOLDER, NULL},
        {"/", TRUST_FOLDER, NULL},
        {"/etc/open.yaml", TRUST_FILE,
            "/etc/open.yaml: everybody may write it. to correct it: chmod go-w /etc/open.yaml"},
        {"/etc/his.yaml", TRUST_FILE,
            "/etc/his.yaml: user 1000 may change its permissions. to correct it: chown -h root "
            "/etc/his.yaml"},
        {"/etc/open.d", TRUST_FOLDER,
            "/etc/open.d: everybody may put files there. to correct it: chmod go-w /etc/open.d"},
        {"/etc/tmp/.", TRUST_FOLDER, "/etc/tmp: everybody may put files there. " ELSEWHERE},
        {"/etc/tmp/mine/..", TRUST_FOLDER, "/etc/tmp: everybody may put files there. " ELSEWHERE},
        {"/etc/open.d/x/..", TRUST_FOLDER,
            "/etc/open.d: everybody may replace files there. " ELSEWHERE},
        {"/tmp/mine/e.yaml", TRUST_FILE, NULL},
        {"/tmp/his/e.yaml", TRUST_FILE,
            "/tmp/his: user 1000 may change its permissions. " ELSEWHERE},
        {"/tmp/his", TRUST_FOLDER, "/tmp/his: user 1000 may change its permissions. " ELSEWHERE},
        {"/tmp/his link/e.yaml", TRUST_FILE,
            "/tmp/his link: user 1000 may change its permissions. " ELSEWHERE},
        {"/tmp", TRUST_FOLDER, "/tmp: everybody may put files there. " ELSEWHERE},
        {"/tmp/x/..", TRUST_FOLDER, "/tmp: everybody may put files there. " ELSEWHERE},
        {"/etc/tmp", TRUST_FOLDER, "/etc/tmp: everybody may put files there. " ELSEWHERE},
        {"/opt", TRUST_FOLDER, "/opt: everybody may put files there. " ELSEWHERE},
        {"/srv/e.yaml", TRUST_FILE, "/srv: group 50 may replace files there. " ELSEWHERE},
        {"/etc/away", TRUST_FILE, "/srv: group 50 may replace files there. " ELSEWHERE},
        {"/etc/abs/e.yaml", TRUST_FILE, NULL},
        {"/etc/abs2/e.yaml", TRUST_FILE, NULL},
        {"/etc/abs2/../mine/e.yaml", TRUST_FILE, NULL},
        {"/etc/via", TRUST_FILE, "/tmp/his link: user 1000 may change its permissions. " ELSEWHERE},
        {"/etc/loop", TRUST_FILE,
            "/etc: its permissions cannot be determined: too many links lead to each other. use "
            "another "
            "place"},
        {"/etc/pipe", TRUST_FILE, NULL},
        {"/etc/secret/e.yaml", TRUST_FILE,
            "/etc/secret: its permissions cannot be determined: refused. use another place"},
        /* a path that does not exist */
        {"/etc/none", TRUST_FOLDER, NULL},
        {"/tmp/none", TRUST_WAY, NULL},
        {"/tmp/none/x", TRUST_FOLDER, "/tmp: everybody may put files there. " ELSEWHERE},
        {"/opt/none", TRUST_WAY, "/opt: everybody may replace files there. " ELSEWHERE},
        {"etc", TRUST_FILE,
            "etc: its permissions cannot be determined: it is not an absolute path. use another "
            "place"},
    };
    const struct trust_system system = {
        .user = 0, .look = look_linux, .self = (struct place *)(uintptr_t)places};
    expect_all(&system, cases, sizeof(cases) / sizeof(cases[0]));
}

#define SAFE "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"

static void on_windows_every_folder_and_link_on_the_way_counts(void **state)
{
    (void)state;
    static const struct place places[] = {
        {"C:\\", DIR,
            "O:TID:PAI(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", NULL},
        {"C:\\ProgramData", DIR, SAFE "(A;OICIIO;GA;;;CO)(A;CI;DCLCRPCR;;;BU)", NULL},
        {"C:\\ProgramData\\etwship", DIR, SAFE, NULL},
        {"C:\\ProgramData\\etwship\\e.yaml", REG, SAFE, NULL},
        {"C:\\ProgramData\\plain", DIR, SAFE "(A;CIID;DCLCRPCR;;;BU)", NULL},
        {"C:\\ProgramData\\plain\\e.yaml", REG, SAFE, NULL},
        {"C:\\made", DIR, "O:U1D:AI(A;OICIID;FA;;;BA)(A;OICIID;SDGXGWGR;;;AU)", NULL},
        {"C:\\ProgramData\\made.yaml", REG, "O:U1D:AI(A;OICIID;FA;;;BA)", NULL},
        {"C:\\link", LNK, SAFE, "\\??\\D:\\data"},
        {"C:\\rooted", LNK, SAFE, "\\ProgramData\\etwship"},
        {"C:\\ProgramData\\near", LNK, SAFE, "..\\ProgramData\\etwship"},
        {"C:\\ProgramData\\turn", LNK, SAFE "(A;;0x100;;;BU)", "etwship"},
        {"C:\\ProgramData\\unc", LNK, SAFE, "\\??\\UNC\\host\\share\\x"},
        {"D:\\", DIR, "O:SYD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1301bf;;;AU)", NULL},
        {"D:\\data", DIR, "O:SYD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1301bf;;;AU)", NULL},
        {"D:\\own", DIR, SAFE, NULL},
        {"\\\\host\\share\\", DIR, "O:BAD:(A;OICI;FA;;;WD)", NULL},
        {"\\\\?\\Volume{1}\\", DIR, SAFE, NULL},
        {"F:\\", DIR, "O:BAD:NO_ACCESS_CONTROL", NULL},
        {NULL, DIR, NULL, NULL},
    };
    static const struct one cases[] = {
        {"C:\\ProgramData\\etwship\\e.yaml", TRUST_FILE, NULL},
        {"C:/ProgramData\\\\etwship\\e.yaml", TRUST_FILE, NULL},
        {"C:\\ProgramData\\etwship", TRUST_FOLDER, NULL},
        {"C:\\ProgramData\\etwship\\none", TRUST_FOLDER, NULL},
        {"C:\\ProgramData\\none", TRUST_WAY, NULL},
        {"C:\\ProgramData\\none", TRUST_FOLDER,
            "C:\\ProgramData: BUILTIN\\Users (S-1-5-32-545) may put files "
            "there. " ELSEWHERE_WINDOWS},
        {"C:\\ProgramData", TRUST_FOLDER,
            "C:\\ProgramData: BUILTIN\\Users (S-1-5-32-545) may put files "
            "there. " ELSEWHERE_WINDOWS},
        {"C:\\ProgramData\\plain\\e.yaml", TRUST_FILE, NULL},
        {"C:\\ProgramData\\plain", TRUST_FOLDER,
            "C:\\ProgramData\\plain: BUILTIN\\Users (S-1-5-32-545) may put files there. to correct "
            "it: "
            "icacls \"C:\\ProgramData\\plain\" /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F "
            "*S-1-5-32-544:(OI)(CI)F *S-1-5-21-1-2-3-1002:(OI)(CI)F /remove:g *S-1-5-32-545"},
        {"C:\\made\\e.yaml", TRUST_FILE,
            "C:\\made: S-1-5-21-1-2-3-1001 may change its permissions. " ELSEWHERE_WINDOWS},
        {"C:\\ProgramData\\made.yaml", TRUST_FILE,
            "C:\\ProgramData\\made.yaml: S-1-5-21-1-2-3-1001 may change its permissions. to "
            "correct it: icacls \"C:\\ProgramData\\made.yaml\" /setowner *S-1-5-32-544"},
        {"C:\\link\\e.yaml", TRUST_FILE,
            "D:\\data: Authenticated Users (S-1-5-11) may replace it. " ELSEWHERE_WINDOWS},
        {"C:\\rooted\\e.yaml", TRUST_FILE, NULL},
        {"C:\\ProgramData\\near\\e.yaml", TRUST_FILE, NULL},
        {"C:\\ProgramData\\turn\\e.yaml", TRUST_FILE,
            "C:\\ProgramData\\turn: BUILTIN\\Users (S-1-5-32-545) may turn it into a "
            "link. " ELSEWHERE_WINDOWS},
        {"C:\\ProgramData\\unc", TRUST_WAY,
            "\\\\host\\share\\: Everyone (S-1-1-0) may replace files there. " ELSEWHERE_WINDOWS},
        {"D:\\own", TRUST_FOLDER, NULL},
        {"\\\\?\\Volume{1}\\x", TRUST_FOLDER, NULL},
        {"\\\\?\\UNC\\host\\share", TRUST_WAY, NULL}, /* the table does not have that name */
        {"F:\\x", TRUST_WAY, "F:\\: everybody may replace files there. " ELSEWHERE_WINDOWS},
        {"F:\\", TRUST_FOLDER, "F:\\: everybody may put files there. " ELSEWHERE_WINDOWS},
        {"\\\\.\\pipe\\x", TRUST_FILE,
            "\\\\.\\pipe\\x: its permissions cannot be determined: it is not an absolute path. use "
            "another "
            "place"},
    };
    uint8_t bytes[SDDL_MAX_BYTES];
    struct sid own;
    struct reader r = reader_make(span_make(bytes, sddl_encode_sid("U2", bytes, NULL)));
    assert_true(sid_read(&r, &own));
    const struct trust_system system = {.is_windows = true,
        .own = {.process = &own},
        .look = look_windows,
        .self = (struct place *)(uintptr_t)places};
    expect_all(&system, cases, sizeof(cases) / sizeof(cases[0]));
}

static void a_path_that_is_too_long_is_unknown(void **state)
{
    (void)state;
    static const struct place places[] = {
        {"/", PLAT_RIGHTS_FOLDER, "0:0 755", NULL}, {NULL, PLAT_RIGHTS_NONE, NULL, NULL}};
    static char path[2 * TRUST_PATH_BYTES];
    static struct trust_finding finding;
    const struct trust_system system = {
        .look = look_linux, .self = (struct place *)(uintptr_t)places};
    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    assert_false(trust_path_judge(&system, path, TRUST_FILE, &finding));
    assert_int_equal(finding.verdict.party, TRUST_UNKNOWN);
    path[TRUST_PATH_BYTES - 2] = 0;
    assert_true(trust_path_judge(&system, path, TRUST_FILE, &finding));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_linux_every_folder_and_link_on_the_way_counts),
        cmocka_unit_test(on_windows_every_folder_and_link_on_the_way_counts),
        cmocka_unit_test(a_path_that_is_too_long_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
