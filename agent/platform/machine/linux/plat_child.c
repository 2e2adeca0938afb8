#define _GNU_SOURCE

#include "platform/plat_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * A suspended program is a fork of our process that waits for a byte in a pipe and then executes
 * the program. If our process ends, the pipe closes and the fork ends. Until exec it only does what
 * is safe after fork() in a multi-threaded process. A program that cannot be executed is only
 * noticed then: the child ends with the shell's exit code for that.
 */
enum { MAX_WORDS = 256, EXIT_NOT_FOUND = 127, START_TIME_FIELD = 22 };

struct plat_child {
    pid_t pid;
    bool is_own; /* a child of this process, which must be waited for */
    int gate;    /* write end of its pipe; -1: it runs */
    uint64_t started;
    bool has_ended;
    uint32_t code;
};

/* starttime of /proc/PID/stat, which follows the name; the name may contain anything (proc(5)). 0
 * if it has ended. */
static uint64_t started_at(pid_t pid)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0) {
        close(file);
    }
    if (size <= 0) {
        return 0;
    }
    text[size] = 0;
    const char *at = strrchr(text, ')');
    char state = at && at[1] && at[2] ? at[2] : 'X';
    for (int field = 3; at && field <= START_TIME_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    return at && state != 'Z' && state != 'X' ? strtoull(at, NULL, 10) : 0;
}

/* Split ${line} at blanks outside double quotes, which are removed. The words point into it. */
static size_t split(char *line, char *words[MAX_WORDS])
{
    size_t count = 0;
    char *from = line;
    while (*from && count < MAX_WORDS - 1) {
        from += strspn(from, " \t");
        if (!*from) {
            break;
        }
        char *to = from;
        bool is_quoted = false;
        words[count++] = to;
        for (; *from && (is_quoted || (*from != ' ' && *from != '\t')); from++) {
            if (*from == '"') {
                is_quoted = !is_quoted;
            } else {
                *to++ = *from;
            }
        }
        from += *from != 0;
        *to = 0;
    }
    words[count] = NULL;
    return count;
}

/* One more than the highest possible file descriptor. */
static int file_limit(void)
{
    enum { MOST = 65536 };
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MOST ? (int)limit.rlim_cur
                                                                          : MOST;
}

/* Close all descriptors except two: the child must not keep files and locks of this process. */
static void close_others(int one, int other, int limit)
{
    for (int file = 3; file < limit; file++) {
        if (file != one && file != other) {
            close(file);
        }
    }
}

/* Runs in the child. */
static void become(int gate, const char *folder, char *const words[], int nothing, int limit)
{
    sigset_t none;
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    char byte;
    ssize_t got;
    close_others(gate, nothing, limit);
    do {
        got = read(gate, &byte, 1);
    } while (got < 0 && errno == EINTR);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigaction(SIGPIPE, &by_default, NULL); /* exec keeps what is ignored */
    setsid();
    if (got == 1 && chdir(folder) == 0) {
        dup2(nothing, 0);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execv(words[0], words);
    }
    _exit(EXIT_NOT_FOUND);
}

/* Wait until the child has closed the descriptors of this process: the pipe is never written to. */
static void await_closing(int ready)
{
    char byte;
    ssize_t got;
    do {
        got = read(ready, &byte, 1);
    } while (got < 0 && errno == EINTR);
    close(ready);
}

/* Both ends of the gate, both ends of a pipe that signals the closing of other descriptors, and
 * /dev/null. */
struct files {
    int gate[2];
    int ready[2];
    int nothing;
};

static bool open_files(struct files *files)
{
    if (pipe2(files->gate, O_CLOEXEC) != 0) {
        return false;
    }
    if (pipe2(files->ready, O_CLOEXEC) == 0) {
        files->nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (files->nothing >= 0) {
            return true;
        }
        close(files->ready[0]);
        close(files->ready[1]);
    }
    close(files->gate[0]);
    close(files->gate[1]);
    return false;
}

static bool start(
    struct plat_child *child, char *const words[], const char *folder, struct error *err)
{
    struct files files;
    if (!open_files(&files)) {
        return error_set_os(err, errno, strerror(errno), "cannot start the program");
    }
    const int limit = file_limit();
    pid_t pid = fork();
    if (pid == 0) {
        become(files.gate[0], folder, words, files.nothing, limit);
    }
    int code = errno;
    close(files.gate[0]);
    close(files.ready[1]);
    close(files.nothing);
    await_closing(files.ready[0]);
    if (pid < 0) {
        close(files.gate[1]);
        return error_set_os(err, code, strerror(code), "cannot start the program");
    }
    *child = (struct plat_child){
        .pid = pid, .is_own = true, .gate = files.gate[1], .started = started_at(pid)};
    return true;
}

static bool start_line(struct plat_child *child, char *line, const char *folder, struct error *err)
{
    char *words[MAX_WORDS];
    if (split(line, words) == 0 || access(words[0], X_OK) != 0) {
        return error_set_os(
            err, errno, strerror(errno), "%.200s: cannot be started", words[0] ? words[0] : "");
    }
    return start(child, words, folder, err);
}

struct plat_child *plat_child_launch(
    const char *command_line, const char *folder, struct error *err)
{
    struct plat_child *child = calloc(1, sizeof(*child));
    char *line = strdup(command_line);
    bool good = false;
    if (!child || !line) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else {
        good = start_line(child, line, folder, err);
    }
    free(line);
    if (!good) {
        free(child);
        child = NULL;
    }
    return child;
}

struct plat_child *plat_child_open(uint32_t pid, struct error *err)
{
    struct plat_child *child = calloc(1, sizeof(*child));
    uint64_t started = pid <= INT32_MAX ? started_at((pid_t)pid) : 0;
    if (!child || !started) {
        free(child);
        if (started) {
            error_set(err, ERR_MEMORY, "out of memory");
        } else {
            error_set(err, ERR_MISSING, "no process has the id %" PRIu32, pid);
        }
        return NULL;
    }
    *child = (struct plat_child){.pid = (pid_t)pid, .gate = -1, .started = started};
    return child;
}

uint32_t plat_child_pid(const struct plat_child *child)
{
    return (uint32_t)child->pid;
}

uint64_t plat_child_started(const struct plat_child *child)
{
    return child->started;
}

bool plat_child_go(struct plat_child *child, struct error *err)
{
    if (child->gate < 0) {
        return true;
    }
    /* SIGPIPE is ignored in this process, so a closed pipe is an error of the call */
    if (write(child->gate, "g", 1) != 1) {
        return error_set_os(err, errno, strerror(errno), "cannot resume the program");
    }
    close(child->gate);
    child->gate = -1;
    return true;
}

static void take_end(struct plat_child *child, int status)
{
    child->has_ended = true;
    child->code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : UINT32_MAX;
}

bool plat_child_has_ended(struct plat_child *child, uint32_t *ret_code)
{
    int status = 0;
    if (!child->has_ended && child->is_own && waitpid(child->pid, &status, WNOHANG) == child->pid) {
        take_end(child, status);
    } else if (!child->has_ended && !child->is_own && started_at(child->pid) != child->started) {
        child->has_ended = true;
        child->code = UINT32_MAX;
    }
    if (child->has_ended && ret_code) {
        *ret_code = child->code;
    }
    return child->has_ended;
}

void plat_child_kill(struct plat_child *child)
{
    uint64_t until_ns = plat_monotonic_ns() + PLAT_CHILD_KILL_MS * UINT64_C(1000000);
    if (!plat_child_has_ended(child, NULL)) {
        kill(child->pid, SIGKILL);
    }
    while (!plat_child_has_ended(child, NULL) && plat_monotonic_ns() < until_ns) {
        plat_sleep_ms(1);
    }
}

static void await_end(void *self)
{
    pid_t pid = (pid_t)(intptr_t)self;
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
}

void plat_child_close(struct plat_child *child)
{
    if (!child) {
        return;
    }
    if (child->gate >= 0) {
        plat_child_kill(child);
        close(child->gate);
    }
    if (child->is_own && !plat_child_has_ended(child, NULL)) { /* else it would be a zombie */
        void *pid = (void *)(intptr_t)child->pid;
        plat_thread_detach(plat_thread_start("child", await_end, pid, NULL));
    }
    free(child);
}

/* True for the name of the program file; a process may change its own name. */
static bool is_called(const char *pid, const char *name)
{
    char path[64];
    char target[4096];
    snprintf(path, sizeof(path), "/proc/%.20s/exe", pid);
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    if (size <= 0) {
        return false;
    }
    target[size] = 0;
    const char *last = strrchr(target, '/');
    return last && strcmp(last + 1, name) == 0;
}

bool plat_child_find(
    const char *name, bool (*each)(void *self, uint32_t pid), void *self, struct error *err)
{
    DIR *all = opendir("/proc");
    if (!all) {
        return error_set_os(err, errno, strerror(errno), "cannot list processes");
    }
    bool more = true;
    for (struct dirent *entry = readdir(all); entry && more; entry = readdir(all)) {
        bool is_pid = entry->d_name[strspn(entry->d_name, "0123456789")] == 0;
        if (is_pid && is_called(entry->d_name, name)) {
            more = each(self, (uint32_t)strtoul(entry->d_name, NULL, 10));
        }
    }
    closedir(all);
    return true;
}
