#ifndef ETWSHIP_INPUT_ETL_WALK_H
#define ETWSHIP_INPUT_ETL_WALK_H

#include "input/etl/etl_file.h"

/*
 * A walk over the buffers of a trace that can pause at the present end of the file and continue
 * when it has grown. etl_file_walk (etl_file.h) walks to the end at once.
 */
struct etl_walk;

enum etl_walk_mode {
    ETL_WALK_WHOLE,   /* the file is final: its end is read as it is */
    ETL_WALK_CLOSED,  /* its session is closed, but it may still be copied: whole buffers only */
    ETL_WALK_GROWING, /* it is being written: the last buffer only if all its records are there */
};

enum etl_walk_step {
    ETL_WALK_ON,      /* passed a buffer or damage */
    ETL_WALK_END,     /* nothing more until the file grows */
    ETL_WALK_STOPPED, /* the visitor stopped it */
    ETL_WALK_FAILED,  /* the file cannot be read, or memory is short */
};

/* ${file} is borrowed, ${visitor} copied. NULL if memory is short. */
struct etl_walk *etl_walk_create(
    struct etl_file *file, const struct etl_visitor *visitor, struct error *err);
void etl_walk_destroy(struct etl_walk *walk); /* NULL is fine */

/* Take one step. The file may have grown since the last one (bytes.size). */
enum etl_walk_step etl_walk_next(struct etl_walk *walk, enum etl_walk_mode mode, struct error *err);

/* Everything before this file offset was visited. */
uint64_t etl_walk_offset(const struct etl_walk *walk);

#endif
