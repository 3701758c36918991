/* Calls that `import Glibc` does not show, or shows in a form Swift cannot use: variadic calls, macros, calls
 * that need _GNU_SOURCE. Each function behaves as the system's, except as its comment says; failures are -1
 * and errno. */
#ifndef SLUICE_PLATFORM_H
#define SLUICE_PLATFORM_H

#include <stdint.h>
#include <sys/types.h>

/* Opens those standard descriptors that are closed, so that no file opened later becomes the standard output.
 * Reading and writing them fail with EBADF as before. */
void sluice_hold_standard_descriptors(void);

/* Descriptors of a worker process; 0 and 1 are /dev/null. */
#define SLUICE_FD_CONTROL 3 /* the socket to the coordinator */
#define SLUICE_FD_STATUS 4  /* the status page, see below */
#define SLUICE_FD_FOLDER 5  /* the folder granted, or /dev/null */

/* ---- Processes ---- */

/* Starts a program with the descriptors above (and standard output, -1 for /dev/null, and standard error),
 * all others closed, in its own process group, with no signal blocked or ignored. With `standard_error` -1 it
 * keeps this process's terminal instead: its standard streams and process group. Returns 0 and the pid, or an
 * errno. Descriptors must be 16 or more. */
int sluice_spawn(pid_t *pid, const char *path, char *const argv[], char *const envp[], int control, int status,
                 int folder, int standard_output, int standard_error);

/* Waits for a child without blocking: 1 if it has ended (how is stored), 0 if not. Kills the rest of its
 * process group. */
int sluice_wait(pid_t pid, int *exit_code, int *signal_number);

/* Asks the kernel to kill this process when its parent ends; -1 if the parent has ended already. */
int sluice_die_with(pid_t parent);

int sluice_pidfd_open(pid_t pid);
int sluice_pidfd_kill(int pidfd);

/* ---- Memory ---- */

int sluice_memfd(const char *name, int sealable);
/* Forbids every change of a sealable memfd from now on, through any descriptor. Fails if it is mapped
 * writable. */
int sluice_seal(int fd);
/* Frees the memory of a memfd that is not sealed against shrinking. It cannot grow again through any
 * descriptor. */
void sluice_empty(int fd);
/* Forbids every change of a sealable memfd except by `sluice_empty`. Returns a read-only descriptor of it, with its own
 * offset, for untrusted processes; -1 and errno. */
int sluice_memory_reader(int memory);
/* Moves the content of one memfd to another, and forbids every change of the new one except by
 * `sluice_empty`. The old one holds no memory afterwards. Returns a read-only descriptor of the new one, with
 * its own offset, for untrusted processes. */
int sluice_move_content(int from, int to);

/* Syncs the file system that a descriptor is on (syncfs(2)). 0, or -1 and errno. */
int sluice_sync_all(int fd);

/* Pieces of work in one worker that may be told at once that their results are not wanted. */
#define SLUICE_MOST_CANCELLED 16

/* A worker's status, in memory shared with the coordinator. The coordinator does not trust it: it uses it for
 * messages, and to decide which of the worker's own attachments is blamed, and for nothing else. */
typedef struct sluice_status {
  uint64_t serial;  /* of the work in hand; 0: none */
  uint64_t since;   /* CLOCK_MONOTONIC in nanoseconds when its stage began */
  uint32_t stage;   /* which; SLUICE_FLUSHING: in a barrier */
  uint32_t death;   /* why it is about to die, SLUICE_DEATH_… */
  uint64_t detail;  /* bytes asked for, or the number of the system call */
  /* The one field that the coordinator writes: the work whose results are not wanted any more; 0: none. */
  uint64_t cancelled[SLUICE_MOST_CANCELLED];
} sluice_status;

/* The frame after the page holds the results of the stages before the current one, as a length and a frame,
 * so that they are not lost if the worker dies. */
#define SLUICE_STATUS_SIZE 102404 /* 4096, a length, a frame of 96 KiB */
#define SLUICE_STATUS_PARTIAL 4096

/* Where it crashed, innermost first, between the status and the frame. Hearsay as well. */
#define SLUICE_STATUS_CRASH 256
#define SLUICE_CRASH_FRAMES 24
#define SLUICE_CRASH_NAME 56
typedef struct sluice_frame {
  uint64_t offset;                /* of an instruction in the module; without a module, its address */
  char module[SLUICE_CRASH_NAME]; /* its file's name, perhaps cut; ends with NUL */
} sluice_frame;
typedef struct sluice_crash {
  uint64_t count;
  sluice_frame frames[SLUICE_CRASH_FRAMES];
} sluice_crash;

#define SLUICE_FLUSHING UINT32_MAX
#define SLUICE_DEATH_NONE 0u
#define SLUICE_DEATH_MEMORY 1u
#define SLUICE_DEATH_SYSCALL 2u

/* ---- Sockets ---- */

/* The number of threads of a process; -1 if it cannot be read. */
int sluice_thread_count(pid_t pid);

/* A connected pair of sockets that keep message boundaries. */
int sluice_socketpair(int sockets[2]);
/* A non-blocking Unix stream socket that only its owner can connect to. */
int sluice_listen(const char *path);
int sluice_accept(int fd);
/* The same without waiting, and the new socket does not wait either. `peer` has room for a sockaddr_storage. */
int sluice_accept_at_once(int fd, void *peer);
/* The user whose process made the other end of a Unix socket; -1: that is not known. */
int64_t sluice_peer_user(int fd);
/* Connects. Connecting, sending and receiving each wait at most so many milliseconds: then EAGAIN. */
int sluice_connect(const char *path, int milliseconds);
/* Receiving waits at most so many milliseconds: then EAGAIN. */
int sluice_limit_receiving(int fd, int milliseconds);
int sluice_limit_sending(int fd, int milliseconds);
/* Sends one message with up to 4 descriptors. Flags: 0 or MSG_DONTWAIT. Never raises SIGPIPE. */
ssize_t sluice_send(int fd, const void *bytes, size_t count, const int *fds, int fd_count, int nonblocking);
/* Receives one message. With fds NULL, descriptors that come along are discarded. EMSGSIZE: the message was
 * longer than `capacity`. `*fd_count` is the room on entry, the number on return. */
ssize_t sluice_receive(int fd, void *bytes, size_t capacity, int *fds, int *fd_count, int nonblocking);

/* ---- Events ---- */

typedef struct sluice_ready {
  uint64_t tag;
  uint32_t readable, writable, hangup;
} sluice_ready;

/* Added to `readable`: also tells, as a hangup, that the other side sends no more, while nothing is read. */
#define SLUICE_ENDS 2
/* Of `hangup`, beside SLUICE_ENDS: the connection is over for both sides, or broken. */
#define SLUICE_CLOSED 4

int sluice_epoll(void);
int sluice_epoll_add(int epoll, int fd, uint64_t tag, int readable, int writable);
int sluice_epoll_change(int epoll, int fd, uint64_t tag, int readable, int writable);
int sluice_epoll_remove(int epoll, int fd);
/* Waits up to so many milliseconds (-1: for ever). EINTR counts as nothing ready. */
int sluice_epoll_wait(int epoll, sluice_ready *ready, int capacity, int milliseconds);

int sluice_eventfd(void);
void sluice_eventfd_raise(int fd);
void sluice_eventfd_clear(int fd);
/* Blocks SIGINT, SIGTERM and SIGHUP for the whole process, and makes them readable. Call it before any thread
 * starts. */
int sluice_signalfd(void);
/* Has the kernel send SIGTERM to this process once, after so many milliseconds, at least 1. */
int sluice_terminate_after(int64_t milliseconds);
/* The next signal, or 0. */
int sluice_signal_take(int fd);

/* ---- Files ---- */

/* Whether no process has the file open to write, with a descriptor or a mapping: what was read of it stays so until one that may
 * opens it anew. The kernel grants a lease to read then and not else (fcntl(2), "Leases"). 0 also where it cannot be told. The
 * descriptor must have been opened for reading only, by the file's owner. */
int sluice_has_no_writer(int fd);
/* Copies within the kernel, from an offset to where the other descriptor is, as copy_file_range(2). */
ssize_t sluice_copy(int from, off_t *offset, int to, size_t count);
int sluice_rename_new(int old_folder, const char *old_path, int new_folder, const char *new_path);
/* Opens a path for reading; no part of it may be a symbolic link (openat2(2)). Before Linux 5.6 it
 * opens one folder after the other, and then takes no `..`. EBUSY: the file is one of `sluice_keep_locks`. */
int sluice_open_source(const char *path);
/* Has `sluice_open_source` refuse this file from now on, under each of its names: SQLite has it open in this process. Closing any
 * descriptor of a file cancels all locks of the process there (fcntl(2)). */
void sluice_keep_locks(const char *path);
/* Whether a file is open for writing somewhere: 1, 0, or -1 where the kernel does not say, as for a file of another
 * user or on a network. No part of the path may be a symbolic link. */
int sluice_has_writer(const char *path);
/* Locks all of an open file for reading (fcntl(2), F_OFD_SETLK), until the last descriptor of it is closed. -1 and errno: EAGAIN or
 * EACCES where another process has it for writing. */
int sluice_lock_to_read(int fd);
/* Opens a path below a folder for reading. It follows no symbolic link and never leaves the folder
 * (openat2(2)). Before Linux 5.6 it opens one folder after the other. */
int sluice_open_below(int folder, const char *path);
/* Whether two files below a folder have the same content: 1, 0, or -1. */
int sluice_same_content(int folder, const char *first, const char *second);
/* Raises the soft limit on descriptors to the hard one; returns it. */
long sluice_raise_descriptor_limit(void);
/* The same for file size, address space and stack, in bytes; INT64_MAX: there is no limit. */
int64_t sluice_raise_file_size_limit(void);
int64_t sluice_raise_address_space_limit(void);
int64_t sluice_raise_stack_limit(void);
/* A file for reading and writing in a folder, without a name: nothing is left of it once it is closed. -1: see errno. */
int sluice_unnamed_file(const char *folder);
/* Whether an open file is of a file system whose files the kernel makes as they are read, such as /proc: they may have no end, or hang.
 * 1, 0, or -1 and errno. May hang where the file system does. */
int sluice_is_kernel_file(int fd);
/* Starts writing a file's data to disk without waiting for it. */
void sluice_start_sync(int fd);
/* A pipe whose end for reading does not block. That for writing does: what is written must arrive to be counted. */
int sluice_pipe(int ends[2]);
int sluice_fcntl_dup_above(int fd, int least);
int sluice_set_nonblocking(int fd);
int sluice_terminal_width(int fd);
int sluice_random(void *bytes, size_t count);
/* Reserves room on the disk for so many bytes of a file, without making it longer (fallocate(2)). */
int sluice_reserve(int fd, int64_t length);
/* Copies so many bytes from the beginning of a file to a place in another (copy_file_range(2)). */
int sluice_copy_to(int from, int64_t count, int to, int64_t place);
/* Seconds since 1970 of a time in UTC, written as a format of strptime(3) says, and nothing after it. 0, or -1. */
int sluice_parse_time(const char *text, const char *format, int64_t *seconds);
/* Whether a file or folder is encrypted by its file system (fscrypt): 1, 0, or -1 where it does not say. */
int sluice_is_encrypted(const char *path);
/* The type of a file from its mode, S_IFREG and so on. */
uint32_t sluice_file_type(uint32_t mode);

/* Of Swift's library, which has no header: the name of a function as people write it, in memory that the caller frees. NULL: it is
 * none of Swift's. */
char *swift_demangle(const char *name, size_t length, char *output, size_t *output_size, uint32_t flags);

#endif
