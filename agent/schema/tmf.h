#ifndef ETWSHIP_SCHEMA_TMF_H
#define ETWSHIP_SCHEMA_TMF_H

#include "base/arena.h"
#include "base/guid.h"
#include "base/map.h"
#include "schema/tmf_item.h"

/*
 * Trace message formats (TMF), what tracepdb and the WPP preprocessor write about the messages of a
 * program:
 *
 *   // PDB:  driver.pdb
 *   a5bbbdd9-73f9-3bed-93aa-521a4c96d934 driver // SRC=main.c MJ= MN=
 *   #typev main_c31 10 "%0value=0x%10!x! of %11!s!" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=F FUNC=run
 *   {
 *   value, ItemLong -- 10
 *   name, ItemString -- 11
 *   }
 *   #enumv _STATE
 *   {
 *   StateIdle,0x0
 *   StateActive,0x1
 *   }
 *
 * A reader takes the lines one by one, wherever they come from: a file, or the annotations of a PDB
 * file. Lines that are none of these are left out, so the text may stand in another one; so may what
 * stands before `#typev` in a line, and as much of the lines behind it. Whatever looks like a format
 * and is none is told with its place, and skipped.
 *
 * "Trace Message Format File" on learn.microsoft.com; the grammar as files of tracepdb have it.
 */
enum {
    TMF_MAX_ARGUMENTS = 256,
    TMF_MAX_LINE_BYTES = 65536,
    TMF_MAX_NAMES = 4096, /* of a list, set or enumeration */
    TMF_MAX_ENUMERATIONS = 65536,
    TMF_MAX_WARNINGS = 20,  /* of one text; then only how many more there were */
    TMF_FIRST_ARGUMENT = 10 /* the numbers below are the header's values */
};

struct tmf_argument {
    struct span expression;      /* as the source code has it */
    struct span type;            /* `ItemListByte(Low,APC,DPC)` */
    struct span names;           /* `Low,APC,DPC`; of an enumeration its name */
    struct span values;          /* the lines `name,value` of that enumeration; empty: not told */
    const struct tmf_item *item; /* NULL: its size is not known */
    uint16_t number;             /* what the format calls it */
};

struct tmf_message {
    struct guid guid;
    uint16_t number;
    struct span module;
    struct span source; /* `main.c`; empty: not told */
    struct span name;   /* `main_c31` */
    uint32_t line;      /* of the source; 0: not told */
    size_t text_line;   /* of the text that says all this */
    struct span format; /* between the quotes, with the escapes of a C string */
    struct span level;  /* empty: not told */
    struct span flags;
    struct span function;
    const struct tmf_argument *arguments; /* in the order of the record */
    size_t argument_count;
    bool is_cut; /* one argument could not be read: what follows in the record is not known */
};

/* Values of an enumeration (`#enumv`), which may stand behind the messages that use it. */
struct tmf_enumeration {
    struct span name;
    struct span values; /* lines `name,value` */
};

/* A copy of ${message} with all that it says, in ${arena}. What ${last} says, too, is shared with it, so
 * it lives as long; NULL: with none. NULL: no memory. */
const struct tmf_message *tmf_message_copy(
    const struct tmf_message *message, const struct tmf_message *last, struct arena *arena);

/* Who is told. Messages live in the arena, their texts where the lines do. */
struct tmf_sink {
    /* False: no more is wanted, as memory has run out. */
    bool (*message)(void *self, const struct tmf_message *message);
    void (*warn)(void *self, const char *text); /* one line with its place; may be NULL */
    void *self;
};

struct tmf_reader {
    const struct tmf_sink *sink;
    struct arena *arena;
    const char *origin;             /* what warnings name */
    const struct map *enumerations; /* name -> struct tmf_enumeration; NULL: none is known */
    size_t line;                    /* number of the current one, or the place of its annotation */
    size_t warnings;
    bool has_guid;
    bool failed; /* no memory, or the sink wants no more */
    struct guid guid;
    struct span module;
    struct span source;
    struct span function; /* of messages that do not name theirs */

    struct tmf_message message; /* that is being read */
    bool has_message;
    bool is_open;    /* its brace is */
    bool is_skipped; /* a brace of something that could not be read is open */
    size_t prefix;   /* bytes before `#typev`, in a line of another text */
    struct tmf_argument arguments[TMF_MAX_ARGUMENTS];
};

/* ${origin} and ${sink} are borrowed until tmf_reader_end; ${arena} keeps the messages. */
void tmf_reader_init(struct tmf_reader *reader, struct arena *arena, const char *origin,
    const struct tmf_sink *sink);

/* A line of UTF-8, without its end or with it. The text must outlive the messages. */
void tmf_reader_line(struct tmf_reader *reader, struct span line);

/*
 * The lines of an annotation in symbols (schema/pdb.h), which has no part in what stands before or
 * behind it. They have no numbers, but all stand at ${place}, and in ${function}, which is that of
 * messages without `FUNC=`. False: no more is wanted, as memory has run out.
 */
bool tmf_reader_annotation(struct tmf_reader *reader, const struct span *lines, size_t count,
    size_t place, struct span function);

/* No more lines. False if memory ran out: not all messages were handed over. */
bool tmf_reader_end(struct tmf_reader *reader);

/*
 * All lines of a file's bytes, in whatever form Windows programs write them: UTF-8 or UTF-16 with or
 * without a mark, else code page 1252. What had to be converted lives in ${arena}; UTF-8 must
 * outlive the messages. False with ${err} set if memory ran out.
 */
bool tmf_read(struct span bytes, struct arena *arena, const char *origin,
    const struct tmf_sink *sink, struct error *err);

#endif
