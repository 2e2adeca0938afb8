#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/plat_socket.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Sockets of the file system: only their owner may use them, and they never replace another
 * file. */
static void the_socket_is_private_and_goes_with_its_listener(void **state)
{
    (void)state;
    struct error err;
    char folder[TEMP_FOLDER_BYTES];
    char path[600];
    assert_int_equal(temp_folder_make(folder, "socket"), 0);
    snprintf(path, sizeof(path), "%s/s", folder);
    struct plat_socket *listener = plat_socket_listen_local(path, &err);
    struct stat facts;
    assert_non_null(listener);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    struct plat_socket *client = plat_socket_connect_local(path, 1000, &err);
    struct plat_socket *served = plat_socket_accept(listener);
    assert_non_null(client);
    assert_non_null(served);
    assert_true(plat_socket_is_ours(served));
    assert_null(plat_socket_listen_local(path, &err)); /* a server listens there */
    plat_socket_close(client);
    plat_socket_close(served);
    plat_socket_close(listener);
    assert_int_equal(stat(path, &facts), -1);
    assert_null(plat_socket_connect_local(path, 1000, &err));
    assert_int_equal(err.code, ERR_MISSING);
    temp_folder_remove(folder);
}

/* The rights of the socket's file keep other accounts out. If an administrator has widened them,
 * the system still tells the account of each client. */
static void another_account_is_not_ours(void **state)
{
    (void)state;
    enum { OTHER_ACCOUNT = 65534 };
    struct error err;
    char folder[TEMP_FOLDER_BYTES];
    char path[600];
    if (geteuid() != 0) {
        skip(); /* only root can become another account */
    }
    assert_int_equal(temp_folder_make(folder, "socket"), 0);
    snprintf(path, sizeof(path), "%s/s", folder);
    struct plat_socket *listener = plat_socket_listen_local(path, &err);
    assert_non_null(listener);
    assert_int_equal(chmod(folder, 0711), 0);
    assert_int_equal(chmod(path, 0666), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* Folders above this one may be closed to it. */
        bool is_other = chdir(folder) == 0 && setuid(OTHER_ACCOUNT) == 0;
        struct plat_socket *client = is_other ? plat_socket_connect_local("s", 1000, &err) : NULL;
        bool connected = client != NULL;
        plat_socket_close(client);
        _exit(connected ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    struct plat_socket *served = plat_socket_accept(listener);
    assert_non_null(served);
    assert_false(plat_socket_is_ours(served));
    plat_socket_close(served);
    plat_socket_close(listener);
    temp_folder_remove(folder);
}

static void only_a_dead_socket_makes_room(void **state)
{
    (void)state;
    struct error err;
    char folder[TEMP_FOLDER_BYTES];
    char path[600];
    assert_int_equal(temp_folder_make(folder, "socket"), 0);
    snprintf(path, sizeof(path), "%s/s", folder);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    assert_null(plat_socket_listen_local(path, &err));
    assert_int_equal(access(path, F_OK), 0);
    close(file);
    unlink(path);
    struct plat_socket *dead = plat_socket_listen_local(path, &err);
    assert_non_null(dead);
    char kept[700];
    snprintf(kept, sizeof(kept), "%s.kept", path);
    assert_int_equal(rename(path, kept), 0);
    plat_socket_close(dead);
    assert_int_equal(rename(kept, path), 0);
    struct plat_socket *next = plat_socket_listen_local(path, &err);
    assert_non_null(next);
    plat_socket_close(next);
    memset(kept, 'a', sizeof(kept) - 1);
    kept[sizeof(kept) - 1] = '\0';
    assert_null(plat_socket_listen_local(kept, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_socket_is_private_and_goes_with_its_listener),
        cmocka_unit_test(only_a_dead_socket_makes_room),
        cmocka_unit_test(another_account_is_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
