#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_WIRE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_WIRE_H

#include "base/reader.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_link.h"
#include "support/etw_sim/sim_state.h"

/*
 * What a program (sim_remote.c) and the machine that it runs on (sim_machine.c) say to each other:
 * a message is an operation, the caller's pid and tid, then what is named here; its answer a Win32
 * code and what stands after the arrow. Numbers are little-endian; a text or a block has its size
 * in 32 bits before it, and UINT32_MAX stands for NULL.
 */
enum sim_wire {
    SIM_WIRE_HELLO = 1, /* -> what the machine is (sim_remote_meet) */
    SIM_WIRE_NOW,       /* -> u64 counter, u64 FILETIME */
    SIM_WIRE_START,     /* name, properties -> u64 session, properties */
    SIM_WIRE_CONTROL,   /* u64 session, name, u32 control, properties -> properties */
    SIM_WIRE_QUERY_ALL, /* u32 capacity, so many properties -> u32 count, properties */
    /* u64 session, provider, u32 control, u8 level, u64 any, u64 all, u32 timeout, then u8: are
     * there parameters? u32 version, property, flags, guid, u32 count,
     * and for each filter u32 type, data */
    SIM_WIRE_ENABLE,
    SIM_WIRE_ENUMERATE, /* u32 class, in, u32 out bytes -> u32 needed, out */
    SIM_WIRE_SET,       /* u64 session, u32 class, data */
    SIM_WIRE_QUERY,     /* u64 session, u32 class, u32 out bytes -> u32 needed, out */
    /* u64 provider, descriptor, u32 flags, guid activity, related, u32 count,
     * and for each u8 type, data */
    SIM_WIRE_WRITE,
    SIM_WIRE_STRING,        /* u64 provider, u8 level, u64 keyword, text */
    SIM_WIRE_ENABLED,       /* u64 provider, u8 level, u64 keyword -> u8 */
    SIM_WIRE_SET_PROVIDER,  /* u64 provider, u32 class, data */
    SIM_WIRE_TRACE_EVENT,   /* u64 session, EVENT_TRACE_HEADER with its payload */
    SIM_WIRE_TRACE_MESSAGE, /* u64 session, u32 flags, guid or none, u16 number, payload */

    /* The connection belongs to what was asked for, and its end ends that. */
    SIM_WIRE_HOLD,     /* guid -> held (ETW_ERROR_ALREADY_EXISTS: by another program) */
    SIM_WIRE_HELD,     /* guid -> u8: is it held? An ordinary call. */
    SIM_WIRE_PROVIDER, /* u8: classic? guid. Answered by SIM_WIRE_ANSWER */
    SIM_WIRE_TRACE,    /* name -> session (sim_wire_put_session) */

    /* On the connection of a trace, without an answer of their own. */
    SIM_WIRE_PROCESS, /* the program is in ProcessTrace */
    /* from the machine: u32 events lost, buffers written, count, and for each buffer u16 cpu, u8
     * lost, u64 last time, its bytes */
    SIM_WIRE_BATCH,
    SIM_WIRE_TAKEN, /* u8: is there to be more? */
    SIM_WIRE_CLOSE, /* CloseTrace while ProcessTrace runs */
    SIM_WIRE_END,   /* from the machine: u32 what ProcessTrace returns */

    /* On the connection of a provider. */
    SIM_WIRE_ANSWER, /* u32 code, u64 handle: of registering, and of unregistering */
    SIM_WIRE_TELL,   /* u64 handle, u64 number, then what the callback is told */
    SIM_WIRE_TOLD,   /* u64 number: the callback has returned */
    SIM_WIRE_UNREGISTER,
};

enum { SIM_WIRE_MAX_DATA = 128 };

static inline void sim_wire_put_block(struct buf *out, const void *data, size_t size)
{
    etl_put_u32(out, data ? (uint32_t)size : UINT32_MAX);
    buf_add(out, data, data ? size : 0);
}

/* Its bytes, with NULL data where there was none. */
static inline struct span sim_wire_block(struct reader *in)
{
    uint32_t size = reader_u32(in);
    return size == UINT32_MAX ? span_make(NULL, 0) : reader_take(in, size);
}

static inline void sim_wire_put_text(struct buf *out, const etw_char *text)
{
    sim_wire_put_block(
        out, text, text ? (sim_text_length(text, ETW_MAX_NAME_CHARS) + 1) * sizeof(*text) : 0);
}

/* Cut to what a name may have; NULL where there was none. */
static inline const etw_char *sim_wire_text(
    struct reader *in, etw_char room[ETW_MAX_NAME_CHARS + 1])
{
    struct span bytes = sim_wire_block(in);
    size_t units = bytes.size / sizeof(*room);
    units = units < ETW_MAX_NAME_CHARS ? units : ETW_MAX_NAME_CHARS;
    if (bytes.data) {
        memcpy(room, bytes.data, units * sizeof(*room));
        room[units] = 0;
    }
    return bytes.data ? room : NULL;
}

/* What a consumer needs to know of a session. */
void sim_wire_put_session(struct buf *out, const struct sim_session *s);
bool sim_wire_session(struct reader *in, struct sim_session *ret_session);

#endif
