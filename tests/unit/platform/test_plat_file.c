#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/plat_file.h"
#include "support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES];

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "file");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void write_file(const char *path, enum plat_file_mode mode, const char *text)
{
    struct error err;
    struct plat_file *file = plat_file_open(path, mode, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text(text), &err));
    assert_true(plat_file_sync(file, &err));
    plat_file_close(file);
}

static void assert_content(const char *path, const char *expected)
{
    char *data = NULL;
    size_t size = 0;
    struct error err;
    assert_true(plat_file_load(path, 1000, &data, &size, &err));
    assert_span(span_make(data, size), expected);
    assert_int_equal(data[size], 0);
    free(data);
}

/* A hole of 1 MB, a byte, and another hole. File systems keep data in blocks, so answers may be
 * earlier. */
static void holes_are_told(void **state)
{
    (void)state;
    enum { MB = 1024 * 1024 };
    const char *path = in_folder("sparse");
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, NULL);
    assert_true(plat_file_truncate(file, MB, NULL));
    plat_file_close(file);
    write_file(path, PLAT_FILE_APPEND, "x");
    file = plat_file_open(path, PLAT_FILE_APPEND, NULL);
    assert_true(plat_file_truncate(file, 3 * MB, NULL));
    plat_file_close(file);

    file = plat_file_open(path, PLAT_FILE_READ, NULL);
    uint64_t first = plat_file_next_data(file, 5);
    uint64_t second = plat_file_next_data(file, 2 * MB);
    bool has_holes = first != 5;
    assert_true(!has_holes || (first > MB / 2 && first <= MB));
    assert_int_equal(second, has_holes ? 3 * MB : 2 * MB);
    assert_int_equal(plat_file_next_data(file, MB), MB);
    plat_file_close(file);
}

static void create_empties_and_append_adds(void **state)
{
    (void)state;
    const char *path = in_folder("modes");
    write_file(path, PLAT_FILE_APPEND, "one");
    write_file(path, PLAT_FILE_APPEND, "two");
    assert_content(path, "onetwo");
    write_file(path, PLAT_FILE_CREATE, "new");
    assert_content(path, "new");
}

/* The agent must not change a file that another account chose: an account that may put a name into
 * the folder could make it a second name of another file. */
static void what_is_a_link_is_neither_written_to_nor_given_away(void **state)
{
    (void)state;
    static const enum plat_file_mode modes[] = {PLAT_FILE_APPEND, PLAT_FILE_CREATE,
        PLAT_FILE_CREATE_NEW, PLAT_FILE_CREATE_PRIVATE, PLAT_FILE_READ_ITSELF};
    static const char *const links[] = {"soft", "hard", "dangling", "chain"};
    char victim[256];
    snprintf(victim, sizeof(victim), "%s", in_folder("victim"));
    write_file(victim, PLAT_FILE_CREATE, "precious");
    assert_int_equal(symlink(victim, in_folder("soft")), 0);
    assert_int_equal(symlink("made-by-a-link", in_folder("dangling")), 0);
    assert_int_equal(symlink("soft", in_folder("chain")), 0);
    assert_int_equal(link(victim, in_folder("hard")), 0);
    for (size_t i = 0; i < 4; i++) {
        for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
            struct error err = {0};
            bool is_new = modes[m] == PLAT_FILE_CREATE_NEW || modes[m] == PLAT_FILE_CREATE_PRIVATE;
            assert_null(plat_file_open(in_folder(links[i]), modes[m], &err));
            assert_int_equal(err.code, is_new ? ERR_BUSY : ERR_CONFIG);
            assert_non_null(strstr(err.text, links[i]));
        }
    }
    assert_content(victim, "precious");
    struct stat st;
    assert_int_equal(stat(in_folder("made-by-a-link"), &st), -1);
    /* Only the second name made it refuse. */
    assert_int_equal(remove(in_folder("hard")), 0);
    write_file(victim, PLAT_FILE_APPEND, "!");
    assert_content(victim, "precious!");
}

static void a_private_file_is_its_owners_alone(void **state)
{
    (void)state;
    mode_t before = umask(0);
    struct stat st;
    write_file(in_folder("private"), PLAT_FILE_CREATE_PRIVATE, "mine");
    umask(before);
    assert_int_equal(stat(in_folder("private"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct plat_file *file = plat_file_open(in_folder("private"), PLAT_FILE_READ_ITSELF, NULL);
    char text[8] = "";
    size_t got = 0;
    assert_true(plat_file_read_at(file, 0, text, sizeof(text), &got, NULL));
    plat_file_close(file);
    assert_int_equal(got, 4);
    assert_memory_equal(text, "mine", 4);
}

static void what_was_named_itself_is_written_to(void **state)
{
    (void)state;
    char path[256];
    struct error err;
    /* A folder on the way may be a link. */
    assert_int_equal(mkdir(in_folder("real"), 0700), 0);
    assert_int_equal(symlink("real", in_folder("way")), 0);
    write_file(in_folder("way/file"), PLAT_FILE_APPEND, "1");
    write_file(in_folder("way/file"), PLAT_FILE_APPEND, "2");
    assert_content(in_folder("real/file"), "12");
    assert_null(plat_file_open(in_folder("real/file"), PLAT_FILE_CREATE_NEW, &err));
    write_file(in_folder("real/new"), PLAT_FILE_CREATE_NEW, "3");
    assert_content(in_folder("real/new"), "3");
    /* The system's paths to this process's open files (/dev/fd) may be links, too. */
    int fd = open(in_folder("stream"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    static const char *const folders[] = {"/dev/fd", "/proc/self/fd"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%d", folders[i], fd);
        write_file(path, PLAT_FILE_APPEND, "x");
        snprintf(path, sizeof(path), "%s/%d/../%d", folders[i], fd, fd);
        assert_null(plat_file_open(path, PLAT_FILE_APPEND, &err));
    }
    close(fd);
    assert_content(in_folder("stream"), "xx");
    write_file("/dev/null", PLAT_FILE_APPEND, "x");
    write_file("/dev/null", PLAT_FILE_CREATE, "x");
    /* A pipe with a reader. */
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    char got[8] = "";
    write_file(in_folder("pipe"), PLAT_FILE_APPEND, "ab");
    write_file(in_folder("pipe"), PLAT_FILE_CREATE, "c");
    assert_int_equal(read(reader, got, sizeof(got)), 3);
    assert_string_equal(got, "abc");
    close(reader);
}

static void a_read_stops_at_the_end_of_the_file(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        size_t size;
        const char *expected;
    } reads[] = {
        {0, 10, "0123456789"},
        {0, 11, "0123456789"},
        {3, 4, "3456"},
        {8, 100, "89"},
        {10, 5, ""},
        {1000, 5, ""},
        {INT64_MAX, 5, ""},
        {UINT64_MAX, 5, ""},
        {4, 0, ""},
    };
    const char *path = in_folder("read");
    write_file(path, PLAT_FILE_CREATE, "0123456789");
    struct error err;
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, &err);
    assert_non_null(file);
    uint64_t bytes = 0;
    assert_true(plat_file_size(file, &bytes, &err));
    assert_int_equal(bytes, 10);
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        char data[128];
        size_t got = 99;
        assert_true(plat_file_read_at(file, reads[i].offset, data, reads[i].size, &got, &err));
        assert_span(span_make(data, got), reads[i].expected);
    }
    /* Written through another handle in between. */
    write_file(path, PLAT_FILE_APPEND, "AB");
    assert_true(plat_file_size(file, &bytes, &err));
    assert_int_equal(bytes, 12);
    plat_file_close(file);
}

static void what_is_no_file_is_refused_with_its_name(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    static const struct {
        const char *path; /* NULL: the fifo */
        enum error_code code;
        const char *text;
    } cases[] = {
        {"/nowhere/a.etl", ERR_IO, "No such file"},
        {"/tmp", ERR_CONFIG, "is a folder"},
        {"/dev/null", ERR_CONFIG, "device"},
        {NULL, ERR_CONFIG, "pipe"},
        {"", ERR_IO, "No such file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = cases[i].path ? cases[i].path : in_folder("fifo");
        struct error err = {0};
        assert_null(plat_file_open(path, PLAT_FILE_READ, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, cases[i].text));
        assert_null(plat_file_open(path, PLAT_FILE_READ, NULL));
    }
    struct error err = {0};
    assert_null(plat_file_open(folder, PLAT_FILE_CREATE, &err));
    assert_int_equal(err.os_code, EISDIR);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    struct error err = {0};
    struct plat_file *file = plat_file_open("/dev/full", PLAT_FILE_APPEND, &err);
    assert_non_null(file);
    assert_false(plat_file_write(file, span_text("x"), &err));
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(err.os_code, ENOSPC);
    assert_non_null(strstr(err.text, "/dev/full: cannot write"));
    assert_true(plat_file_write(file, span_make(NULL, 0), &err));
    plat_file_close(file);
    plat_file_close(NULL);
}

static void a_closed_pipe_means_stop(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_int_equal(dup2(fds[1], STDOUT_FILENO), STDOUT_FILENO);
    close(fds[1]);
    struct error err = {0};
    struct plat_file *file = plat_file_stdout();
    bool open_write = plat_file_write(file, span_text("x"), &err);
    close(fds[0]);
    bool closed_write = plat_file_write(file, span_text("y"), &err);
    plat_file_close(file);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_true(open_write);
    assert_false(closed_write);
    assert_int_equal(err.code, ERR_STOPPED);
    assert_int_equal(err.os_code, EPIPE);
}

static void a_pipe_that_does_not_block_is_waited_for(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    /* Full to the last byte; a child empties it. */
    char block[4096] = {0};
    size_t filled = 0;
    ssize_t written;
    while ((written = write(fds[1], block, sizeof(block))) > 0) {
        filled += (size_t)written;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(fds[1]);
        size_t got = 0;
        fcntl(fds[0], F_SETFL, 0);
        ssize_t n;
        while ((n = read(fds[0], block, sizeof(block))) > 0) {
            got += (size_t)n;
        }
        _exit(got == filled + 5 ? 0 : 1);
    }
    close(fds[0]);
    int saved = dup(STDOUT_FILENO);
    dup2(fds[1], STDOUT_FILENO);
    close(fds[1]);
    bool good = plat_file_write(plat_file_stdout(), span_text("hello"), NULL);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(good);
    assert_int_equal(status, 0);
}

static void loading_has_a_limit(void **state)
{
    (void)state;
    const char *path = in_folder("load");
    write_file(path, PLAT_FILE_CREATE, "12345");
    char untouched[] = "";
    char *data = untouched;
    size_t size = 77;
    struct error err = {0};
    assert_false(plat_file_load(path, 4, &data, &size, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_ptr_equal(data, untouched);
    assert_int_equal(size, 77);
    assert_true(plat_file_load(path, 5, &data, &size, &err));
    assert_int_equal(size, 5);
    free(data);
    write_file(path, PLAT_FILE_CREATE, "");
    assert_content(path, "");
}

static void replacing_writes_into_no_file_that_is_there(void **state)
{
    (void)state;
    struct error err = {0};
    char path[256];
    char fresh[256];
    char other[256];
    snprintf(path, sizeof(path), "%s/replaced", folder);
    snprintf(fresh, sizeof(fresh), "%s/replaced.new", folder);
    snprintf(other, sizeof(other), "%s/somebody's", folder);
    write_file(path, PLAT_FILE_CREATE, "before");
    write_file(other, PLAT_FILE_CREATE, "stays");
    assert_int_equal(symlink(other, fresh), 0);
    assert_true(plat_file_replace(path, span_text("now"), &err));
    assert_content(path, "now");
    assert_content(other, "stays");
    assert_int_equal(plat_path_kind(fresh), PLAT_PATH_NONE);
}

static void what_cannot_be_replaced_leaves_nothing_beside_it(void **state)
{
    (void)state;
    struct error err = {0};
    char path[256];
    char fresh[256];
    snprintf(path, sizeof(path), "%s/full", folder);
    snprintf(fresh, sizeof(fresh), "%s/full.new", folder);
    assert_true(plat_dir_create(path, &err));
    assert_false(plat_file_replace(path, span_text("now"), &err));
    assert_true(err.text[0] != '\0');
    assert_int_equal(plat_path_kind(path), PLAT_PATH_DIR);
    assert_int_equal(plat_path_kind(fresh), PLAT_PATH_NONE);
}

static void a_file_is_known_by_more_than_its_name(void **state)
{
    (void)state;
    struct error err = {0};
    char other[256];
    struct plat_file_id id;
    struct plat_file_id renamed;
    const char *path = in_folder("id");
    struct plat_file *file = plat_file_open(path, PLAT_FILE_APPEND, &err);
    assert_non_null(file);
    assert_true(plat_file_id(file, &id));
    assert_true(plat_file_is_at(file, path));
    snprintf(other, sizeof(other), "%s", in_folder("id2"));
    assert_int_equal(rename(in_folder("id"), other), 0);
    assert_true(plat_file_id_at(other, &renamed));
    assert_memory_equal(&id, &renamed, sizeof(id));
    assert_false(plat_file_id_at(in_folder("id"), &renamed));
    write_file(in_folder("id"), PLAT_FILE_CREATE, "");
    assert_true(plat_file_id_at(in_folder("id"), &renamed));
    assert_memory_not_equal(&id, &renamed, sizeof(id));
    assert_false(plat_file_id_at(folder, &renamed));
    assert_false(plat_file_id_at("/dev/null", &renamed));
    plat_file_close(file);
}

static void a_lock_holds_against_another_opening(void **state)
{
    (void)state;
    struct error err = {0};
    const char *path = in_folder("lock");
    struct plat_file *one = plat_file_open(path, PLAT_FILE_APPEND, &err);
    struct plat_file *two = plat_file_open(path, PLAT_FILE_APPEND, &err);
    assert_true(one && two);
    assert_true(plat_file_lock(one, &err));
    assert_true(plat_file_lock(one, &err));
    assert_false(plat_file_lock(two, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_non_null(strstr(err.text, "another program is writing to it"));
    plat_file_close(one);
    assert_true(plat_file_lock(two, &err));
    plat_file_close(two);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    const char *path = in_folder("x/y//z/");
    struct error err = {0};
    assert_int_equal(plat_path_kind(path), PLAT_PATH_NONE);
    assert_true(plat_dir_create(path, &err));
    assert_int_equal(plat_path_kind(path), PLAT_PATH_DIR);
    assert_true(plat_dir_create(path, &err));
    assert_true(plat_dir_create("/", &err));

    write_file(in_folder("x/file"), PLAT_FILE_CREATE, "");
    assert_int_equal(plat_path_kind(in_folder("x/file")), PLAT_PATH_FILE);
    assert_false(plat_dir_create(in_folder("x/file/below"), &err));
    assert_int_equal(err.code, ERR_IO);
    assert_false(plat_dir_create(in_folder("x/file"), &err));
    assert_false(plat_dir_create("", &err));
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void a_private_folder_is_its_owners_alone_and_one_that_is_there_stays(void **state)
{
    (void)state;
    struct error err = {0};
    mode_t before = umask(022);
    assert_true(plat_dir_create_private(in_folder("p/q/r//"), &err));
    assert_int_equal(mode_of(in_folder("p/q/r")), 0700);
    assert_int_equal(mode_of(in_folder("p/q")), 0755);
    assert_true(plat_dir_create_private(in_folder("p/q"), &err));
    assert_int_equal(mode_of(in_folder("p/q")), 0755);
    assert_true(plat_dir_create(in_folder("p/open"), &err));
    assert_int_equal(mode_of(in_folder("p/open")), 0755);
    umask(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_are_told),
        cmocka_unit_test(create_empties_and_append_adds),
        cmocka_unit_test(what_is_a_link_is_neither_written_to_nor_given_away),
        cmocka_unit_test(a_private_file_is_its_owners_alone),
        cmocka_unit_test(what_was_named_itself_is_written_to),
        cmocka_unit_test(a_read_stops_at_the_end_of_the_file),
        cmocka_unit_test(what_is_no_file_is_refused_with_its_name),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(a_closed_pipe_means_stop),
        cmocka_unit_test(a_pipe_that_does_not_block_is_waited_for),
        cmocka_unit_test(loading_has_a_limit),
        cmocka_unit_test(replacing_writes_into_no_file_that_is_there),
        cmocka_unit_test(what_cannot_be_replaced_leaves_nothing_beside_it),
        cmocka_unit_test(a_file_is_known_by_more_than_its_name),
        cmocka_unit_test(a_lock_holds_against_another_opening),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(a_private_folder_is_its_owners_alone_and_one_that_is_there_stays),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
