#ifndef ETWSHIP_SCHEMA_PE_RESOURCES_H
#define ETWSHIP_SCHEMA_PE_RESOURCES_H

#include <stddef.h>

#include "base/error.h"

/*
 * Where a program file (.dll, .exe, .sys, .mui: PE32 or PE32+) keeps what describes its events.
 * Only headers and the directory of resources are read, a few hundred bytes each, so that thousands
 * of files without any cost little. (PE Format on learn.microsoft.com: "Optional Header Data
 * Directories", "The .rsrc Section".)
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
    bool is_program; /* a PE file; all else is none of ours */
    struct pe_resource list[PE_MAX_RESOURCES];
    size_t count;
};

/* Read up to ${size} bytes at ${offset}, fewer only at the end; as plat_file_read_at. */
struct pe_input {
    bool (*read)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err);
    void *self;
};

/*
 * Find both types. No PE file, no resources and none of these types are no failure; false with
 * ${err} set if the file cannot be read or contradicts itself. That what is listed lies within the
 * file shows when it is read.
 */
bool pe_resources_find(
    const struct pe_input *input, struct pe_resources *ret_resources, struct error *err);

#endif
