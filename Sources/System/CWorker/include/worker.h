/* The parts of a worker that must be C: the sandbox, and the watch on allocations. */
#ifndef SLUICE_WORKER_H
#define SLUICE_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include "platform.h"

/* The parts of the sandbox, as bits of a level. */
#define SLUICE_SANDBOX_NO_NEW_PRIVILEGES 1u
#define SLUICE_SANDBOX_FILES 2u   /* Landlock */
#define SLUICE_SANDBOX_TCP 4u     /* Landlock, ABI 4 */
#define SLUICE_SANDBOX_SCOPE 8u   /* Landlock, ABI 6: signals and abstract sockets */
#define SLUICE_SANDBOX_SYSCALLS 16u
#define SLUICE_SANDBOX_LIMITS 32u

/* Confines this process to the sandbox of a capability (0 content, 1 store, 2 network), and to what it takes to load libraries.
 * Call it before any plugin is loaded, so that a library's constructors are confined from their first instruction;
 * `sluice_sandbox_close` takes away what loading needed. Forbidden until then as well: starting processes, which would outlive the
 * worker, and sockets, signals, traces and changes of files beyond the capability.
 *
 * Readable are what is installed (/usr, /opt and the like), the folders of `libraries` and of the libraries that this process has,
 * and `files`; both lists end with NULL. Written is only below `folder` (-1: nowhere), and where a channel's options name files,
 * which may be relative to `folder`.
 *
 * Returns the parts in force, without those the kernel lacks. */
uint32_t sluice_sandbox_begin(uint32_t capability, int folder, const char *const *libraries, const char *const *files);

/* Starts the process that connects to Unix sockets for stages; see door.h. Returns the socket by which doors
 * are added, or -1 and errno. Once that socket is closed no more doors are added, and the process ends with
 * the last door, or with the caller. Call it before `sluice_sandbox_begin`, while there is one thread. */
int sluice_doors_start(void);
/* Adds a door to a path. Returns the stage's end, or -1 and errno. */
int sluice_doors_add(int doors, const char *path);

/* Closes the sandbox for good, for a capability of the contract (0 content, 1 store, 2 network). Only
 * `folder` and everything below it stays writable, for `store`. Returns the parts in force, without those the
 * kernel lacks. 0: a stage has started a thread, which would stay outside. */
uint32_t sluice_sandbox_close(uint32_t capability, int folder, int64_t output_limit);

/* Prepares the process that serves connections: a connection that is closed while something is written to it ends no process,
 * and no allocation opens a file. Call it first, before any other thread starts. 0, or -1. */
int sluice_front_begin(void);

/* Closes the sandbox for the process that serves connections, for good: it takes them from sockets it has, and opens no
 * file and no other connection. Where it runs as root, it becomes nobody. At most so many descriptors, bytes in a file, and
 * bytes of address space. Whether its clients may pass descriptors. Returns the parts in force. 0: there is another thread, or the user could not be changed. */
uint32_t sluice_front_close(uint32_t descriptors, int64_t output_limit, int64_t memory, int takes_descriptors);

/* The parts of the sandbox that this kernel supports. Closes nothing. */
uint32_t sluice_sandbox_offered(void);
int sluice_landlock_abi(void);

/* From now on, a failed allocation or a forbidden system call is recorded on the status page before the
 * process ends. */
void sluice_watch(sluice_status *status);

/* From now on, a crash leaves the frames that it happened in on the status page before the process ends. */
void sluice_watch_crashes(sluice_status *status);

/* Notes the libraries that are loaded now, so that frames in them have a name. */
void sluice_note_modules(void);

/* Leaves the frames of this thread on the status page, unless there are some.
 *
 * `context`: the ucontext_t of a signal's handler, for those of the code that was interrupted; NULL: the caller's. */
void sluice_note_frames(const void *context);

/* Limits the address space to the current use plus so many bytes, while a plugin is loaded and opened. */
void sluice_limit_opening(int64_t bytes);

/* Limits the address space to the current use plus so many bytes, never above the hard limit of the first
 * call. */
void sluice_limit_memory(int64_t bytes, int64_t most);

/* For a check: where the loaded plugin in `file` compares one of these pointers with another text, by strcmp(3) and its
 * relatives, `found` is called with that text, which need not end after `length`. A count of 0 ends it. The names stay
 * where they are until then. */
void sluice_watch_names(const char *file, const char *const *names, size_t count,
                        void (*found)(const char *name, size_t length));

/* Bytes allocated and not freed, and open descriptors. A closed stage should leave none. */
int64_t sluice_heap_in_use(void);
int sluice_descriptors_in_use(void);

void sluice_status_begin(sluice_status *status, uint64_t serial, uint32_t stage);
/* Says of which pieces of work the results are not wanted any more, at most SLUICE_MOST_CANCELLED; and whether one is among
 * them. */
void sluice_status_cancel(sluice_status *status, const uint64_t *serials, size_t count);
int sluice_status_cancelled(const sluice_status *status, uint64_t serial);
/* For the coordinator: a copy of the status, consistent enough for messages. */
sluice_status sluice_status_read(const sluice_status *status);

#endif
