#ifndef ETWSHIP_TESTS_SUPPORT_PE_PUT_H
#define ETWSHIP_TESTS_SUPPORT_PE_PUT_H

#include "base/buf.h"

/*
 * Program files with resources and nothing else: "PE Format" on learn.microsoft.com. One section
 * before that of the resources is there to be passed over.
 */
struct pe_put_resource {
    const char *type_name; /* or NULL: `type` */
    uint16_t type;
    uint16_t language;
    struct span bytes;
};

struct pe_put_options {
    bool is_32_bit; /* PE32 instead of PE32+ */
    size_t gap;     /* bytes of the first section; more than one read, say */
};

/* Where what a test may want to break lies in the file. */
struct pe_put_places {
    size_t header;         /* "PE\0\0" */
    size_t resource_entry; /* of the data directories: address, size */
    size_t sections;       /* the headers; the second one is that of the resources */
    size_t tree;           /* the root node */
    size_t names;          /* the first node below the root */
    size_t languages;      /* the first node below that */
    size_t data;           /* the first data entry: address, size */
};

enum { PE_PUT_TREE_ADDRESS = 0x20000000, PE_PUT_MAX_RESOURCES = 32 };

/* Append a file; resources of one type stand side by side, names before numbers. ${ret_places} may
 * be NULL. */
void pe_put(struct buf *out, const struct pe_put_options *options,
    const struct pe_put_resource *resources, size_t count, struct pe_put_places *ret_places);

/* A text of a message table. */
struct pe_put_message {
    uint32_t id;
    const char *text; /* UTF-8 */
    bool is_ansi;     /* kept as the bytes that it has here */
};

/* Append a message table with a line end after each text, as the message compiler writes it.
 * ${messages} ascend by id; what is without gap shares a block. */
void pe_put_messages(struct buf *out, const struct pe_put_message *messages, size_t count);

#endif
