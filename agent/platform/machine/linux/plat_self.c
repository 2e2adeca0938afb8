#define _GNU_SOURCE

#include "platform/plat_self.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    MAPPED_BYTES = 128 * 1024, /* threshold for separate mappings: glibc's initial value */
    SLACK_BYTES = 512 * 1024,  /* free memory that a heap keeps at its end */
};

/* A parent may start the program without standard streams. Their numbers would then go to the next
 * opened files: output would end up in a file or pipe of the program, and input would wait there
 * for ever. So each is opened in the unused direction: using it fails like a closed one. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            /* this is the lowest free number; without /dev/null it stays closed */
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): other systems change what they point to */
void plat_process_init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    hold_standard_streams();
#ifdef __GLIBC__
    /* Map large blocks separately, so that freeing returns them to the system. By default glibc
     * stops that with the first such block freed, and fragmentation grows beyond any budget. */
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    /* keep freed memory of a request for the next one */
    mallopt(M_TRIM_THRESHOLD, SLACK_BYTES);
#endif
}

uint64_t plat_cpu_ns(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) {
        return 0;
    }
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

uint64_t plat_peak_rss_bytes(void)
{
    /* not only ru_maxrss: it starts with the peak of the parent process */
    static const char peak[] = "VmHWM:";
    unsigned long long kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    if (status) {
        char line[256];
        while (kib == 0 && fgets(line, sizeof(line), status)) {
            if (strncmp(line, peak, sizeof(peak) - 1) == 0) {
                kib = strtoull(line + sizeof(peak) - 1, NULL, 10);
            }
        }
        fclose(status);
    }
    struct rusage usage;
    if (kib == 0 && getrusage(RUSAGE_SELF, &usage) == 0) {
        kib = (unsigned long long)usage.ru_maxrss;
    }
    return (uint64_t)kib * 1024;
}

uint32_t plat_process_id(void)
{
    return (uint32_t)getpid();
}

bool plat_is_terminal(int stream)
{
    return isatty(stream) == 1;
}

bool plat_no_color(void)
{
    const char *value = getenv("NO_COLOR");
    return value && *value;
}
