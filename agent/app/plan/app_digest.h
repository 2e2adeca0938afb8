#ifndef ETWSHIP_APP_APP_DIGEST_H
#define ETWSHIP_APP_APP_DIGEST_H

#include "app/config/app_config.h"

/*
 * A hash of a configuration: of every value, from files, variables and --set, and of every file
 * that the configuration reads (config_field.is_read: certificates, definitions of events), by its
 * time of change. Configurations with equal hashes behave equally. It covers secrets too, so never
 * show it.
 */
struct app_digest {
    uint64_t high;
    uint64_t low;
};

bool app_digest_take(
    const struct app_config *config, struct app_digest *ret_digest, struct error *err);

/* A hash to show: of the values alone, without secrets and values of maps. So machines with the
 * same configuration show the same one. 0: out of memory. */
uint64_t app_digest_shown(const struct app_config *config);

/*
 * As app_digest_take, of the file ${path} and of the files that it includes, whether they are valid
 * or not: by their names and by when each was last changed. A file that appears or goes changes it,
 * too. One thread at a time.
 */
void app_digest_sources(const char *path, struct app_digest *ret_digest);

bool app_digest_equal(const struct app_digest *a, const struct app_digest *b);

/* Call ${each} with each file, or folder, that ${output} reads. */
void app_digest_files(
    const struct app_output *output, void (*each)(void *self, const char *path), void *self);

/* Can each file be read that ${output} reads? Else ${err} names the first that cannot. */
bool app_digest_can_read(const struct app_output *output, struct error *err);

#endif
