#ifndef ETWSHIP_SCHEMA_PE_RESOURCES_H
#define ETWSHIP_SCHEMA_PE_RESOURCES_H

#include <stddef.h>

#include "base/error.h"

/*
 * Finds the resources of a program file (.dll, .exe, .sys, .mui: PE32 or PE32+) that describe its
 * events. Only headers and the resource directory are read, a few hundred bytes each, so that
 * scanning thousands of files is cheap. Source: PE Format on learn.microsoft.com, "Optional Header
 * Data Directories" and "The .rsrc Section".
 */
enum pe_resource_type {
    PE_WEVT_TEMPLATE, /* a compiled manifest: manifest_binary.h */
    PE_MESSAGE_TABLE, /* message_table.h */
};

struct pe_resource {
    enum pe_resource_type type;
    uint16_t language; /* LANGID; 0: neutral */
    uint64_t offset;   /* in the file */
    uint32_t size;
};

enum { PE_MAX_RESOURCES = 256 };

struct pe_resources {
    bool is_program; /* false: not a PE file */
    struct pe_resource list[PE_MAX_RESOURCES];
    size_t count;
};

/* Input. Reads up to ${size} bytes at ${offset}; fewer only at the end, like plat_file_read_at. */
struct pe_input {
    bool (*read)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err);
    void *self;
};

/*
 * Find both types. It is no error if the file is not a PE file or has none of these resources.
 * False with ${err} set if it cannot be read or contradicts itself. Listed resources may still lie
 * outside the file; reading them shows that.
 */
bool pe_resources_find(
    const struct pe_input *input, struct pe_resources *ret_resources, struct error *err);

#endif
