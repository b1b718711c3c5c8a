/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that a software trace unit and the recorder share.
 *
 *	one file:  header | sideband ring | slot 0 (header page + ring) | slot 1 | ...
 *
 * A traced thread owns one slot: it alone writes `head` and the ring, the
 * recorder alone writes `tail`.  Offsets are monotonic 64-bit byte counts; ring
 * position = offset & (ring_size - 1).
 *
 * A thread can be killed between any two of its instructions, so its whole
 * state is committed by one 16-byte store into `live`; what is needed to
 * complete the stream follows from it: ht_shm_complete().
 *
 * A thread claims the lowest slot that is FREE, by compare-and-swap to CLAIMED; it
 * sets pid and tid at once, the rest before it stores ACTIVE with release.  Thus
 * slots that were ever used come first: the recorder looks no further than the
 * first that is FREE with pid 0.  Who frees a slot clears tid, and leaves pid.
 *
 * The recorder's part, per slot: drain [tail, head); when the state is ACTIVE
 * and the thread is gone (no /proc/PID/task/TID, or state Z or X in its stat),
 * call ht_shm_complete(), drain again, send the sideband EXIT that the thread
 * could not send.  When the state is CLOSED: drain the rest, set it to FREE.
 * One tid can own several slots one after another (exec): order by start_tsc.
 *
 * Sideband comes from many threads: a lock word holds the tid of the owner, and
 * the recorder breaks the lock of an owner that is dead.
 */
#ifndef CORE_SHM_H
#define CORE_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#define HT_SHM_MAGIC   0x314d485354574855ull
#define HT_SHM_VERSION 6
#define HT_SHM_PAGE    4096

/* Bytes of a ring past `head` that its thread may already be writing to. */
#define HT_SHM_SLACK    4096
#define HT_SHM_RING_MIN 65536

#define HT_SHM_F_RETC      0x01u /* compress returns */
#define HT_SHM_F_CYC       0x02u /* CYC packets that count instructions */
#define HT_SHM_F_OVERWRITE 0x04u /* never wait: the ring keeps the last bytes */
#define HT_SHM_F_INHERIT   0x08u /* follow fork and exec */

struct ht_shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;          /* HT_SHM_F_* */
	uint64_t total_size;
	uint64_t sideband_offset, sideband_size; /* size: power of two */
	uint64_t slots_offset, slot_stride;      /* stride = HT_SHM_PAGE + ring_size */
	uint64_t ring_size;                      /* power of two */
	uint32_t n_slots;
	uint32_t psb_period;     /* bytes */
	int32_t  recorder_pid;
	_Atomic uint32_t stop;   /* recorder: stop tracing, let programs run on */
	uint64_t pid_ns;         /* inode of the recorder's PID namespace; 0 = not known */
	/*
	 * NUL-separated, ended by an empty string: "m GLOB" (path or base name of a
	 * module), "a HEX-HEX" (addresses), "o HEX-HEX@PATH" (file offsets of PATH).
	 */
	char     filter[2048];

	/* Rung (incremented, then FUTEX_WAKE) when a ring is half full, sideband was
	 * written or a slot was closed; the recorder waits on it with a timeout. */
	_Alignas(64) _Atomic uint32_t doorbell;

	_Alignas(64) _Atomic int32_t sideband_lock; /* tid of the owner, 0 = free */
	_Atomic uint64_t sideband_head;
	_Alignas(64) _Atomic uint64_t sideband_tail;
};

enum ht_shm_slot_state {
	HT_SLOT_FREE = 0,
	HT_SLOT_CLAIMED, /* being set up */
	HT_SLOT_ACTIVE,
	HT_SLOT_CLOSED   /* thread ended; recorder drains, then frees */
};

/*
 * Encoder state of a live stream, written by the traced thread only.
 *
 * `tnt`: bits 0-46 hold the pending outcomes, newest in bit 0, below a stop bit
 * (1 = none pending, 0 = packet generation is off: nothing to complete).  Bit 47
 * belongs to `turns`: struct ht_shm_turns.  Bits 48-63 are the low bits of the
 * offset up to which packets are written.
 * `block_ip`: the block entered last; its bits 48-63 are the low bits of the
 * offset of the place for the next TNT packet: HT_TNT_ROOM bytes are kept free
 * there, and the TIP packets of indirect branches between pending outcomes lie
 * behind it (deferred TIPs, as the architecture allows).  Both offsets are at
 * most HT_SHM_SLACK past `head`, which is published now and then.
 */
struct ht_shm_live {
	_Alignas(16) uint64_t tnt;
	uint64_t block_ip;
};

#define HT_TNT_ROOM  8
#define HT_TURN_BIT  (1ull << 47) /* in `tnt` */
#define HT_TNT_BITS  (HT_TURN_BIT - 1)
#define HT_LIVE_BITS ((1ull << 48) - 1) /* of both words */

/*
 * Jumps back behind the last packet and outcome, which nothing in the stream
 * tells of yet: see qemu/turns.h.  They are of the state in `live` if `tnt` and
 * `offset` (of the packets written, in full) are its own.  A jump is noted, then
 * counted in `next`, then the block that it led to is committed: the turn bit is
 * the low bit of `next` as of that, and tells whether the last jump counts.
 */
#define HT_TURNS_MAX 16

struct ht_shm_turns {
	uint64_t tnt, offset;
	_Atomic uint32_t first, next; /* number `i` of [first, next) is at[i % HT_TURNS_MAX] */
	struct ht_shm_turn {
		uint64_t from, to;
	} at[HT_TURNS_MAX];
};

struct ht_shm_slot {
	_Atomic uint32_t state;     /* enum ht_shm_slot_state */
	int32_t          pid, tid;
	uint32_t         cut;       /* ht_shm_complete(): the thread was killed while it ran */
	uint64_t         start_tsc;          /* when the slot was claimed */
	_Alignas(64) _Atomic uint64_t head;  /* bytes produced */
	struct ht_shm_live live;
	_Alignas(64) _Atomic uint64_t tail;  /* bytes consumed; FUTEX_WAKE on tail_seq after a move */
	_Atomic uint32_t tail_seq;
	_Atomic uint32_t waiting;   /* the thread waits for room */
	uint64_t         lost;      /* recorder: bytes overwritten or lost */
	struct ht_shm_turns turns;
};

_Static_assert(sizeof(struct ht_shm_slot) <= HT_SHM_PAGE, "a slot header fits a page");

/*
 * Complete the stream of a thread that is dead: flush pending outcomes and end
 * with "executed up to the start of the block entered last" (FUP, TIP.PGD), behind
 * the jumps back that led there.
 * How much of that block ran is not known: `cut` says so.  A thread that died in a
 * system call has ended its stream itself, and nothing is missing.
 * `ring` is the slot's ring, mapped once or twice.  Advances `head` and closes
 * the slot.  There is always room: a thread waits HT_SHM_SLACK bytes early.
 */
void ht_shm_complete(struct ht_shm_slot *slot, uint8_t *ring, uint64_t ring_size);

/* Sideband records: 8-byte aligned, never wrap (a PAD record fills the end of the ring). */
enum ht_sb_type {
	HT_SB_PAD = 0,
	HT_SB_EXEC,     /* a new program image in pid: text = comm NUL exe path NUL */
	HT_SB_FORK,     /* pid/tid = child; a = parent pid, b = parent tid (pid equal: new thread) */
	HT_SB_EXIT,     /* thread pid/tid ended; a = 1 when the process ended */
	HT_SB_COMM,     /* text = new name */
	HT_SB_MMAP,     /* a = addr, b = len, c = pgoff, prot, dev, ino, build-id, text = path */
	HT_SB_MUNMAP,   /* a = addr, b = len */
	HT_SB_CODE,     /* a = addr, b = len, text = bytes */
	HT_SB_NOTE,     /* text = sentence for the user */
	/* pid is about to become text = path, still traced: EXEC, NOTE or LOSS must follow */
	HT_SB_EXECUTING,
	HT_SB_LOSS,     /* as NOTE: a process or thread (a = 0) or a program (a = 1) is not traced */
	HT_SB_CHILD,    /* pid/tid has made process a, which tells of itself as it runs */
	HT_SB_LOADED    /* the trace unit is there, in an emulator that has yet to load its program */
};

struct ht_sb_record {
	uint32_t size;        /* bytes, header included, multiple of 8 */
	uint16_t type;        /* enum ht_sb_type */
	uint8_t  build_id_size;
	uint8_t  spare;
	uint64_t tsc;
	int32_t  pid, tid;
	uint64_t a, b, c;
	uint32_t prot, flags; /* PROT_*, MAP_* */
	uint32_t maj, min;
	uint64_t ino;
	uint8_t  build_id[20];
	uint32_t text_size;   /* bytes in text[] that count */
	uint8_t  text[];
};

/* Slot `i` of those that begin at `offset` behind `base`, one every `stride` bytes. */
static inline struct ht_shm_slot *
ht_shm_slot_in(const void *base, uint64_t offset, uint64_t stride, uint32_t i)
{
	return (struct ht_shm_slot *)((uintptr_t)base + offset + i * stride);
}

/* The same by what the header says; the recorder goes by what it wrote there itself. */
static inline struct ht_shm_slot *
ht_shm_slot_at(const struct ht_shm_header *h, uint32_t i)
{
	return ht_shm_slot_in(h, h->slots_offset, h->slot_stride, i);
}

#endif
