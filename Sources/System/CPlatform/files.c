#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int sluice_has_no_writer(int fd) {
  /* Who opens the file meanwhile to write breaks the lease: the signal for that, SIGIO, would end the process. */
  if (fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return 0;
  return fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

ssize_t sluice_copy(int from, off_t *offset, int to, size_t count) {
  return copy_file_range(from, offset, to, NULL, count, 0);
}

/* Renames without replacing: EEXIST where the new path is taken. Where the file system lacks RENAME_NOREPLACE
 * (EINVAL), a link and an unlink do the same, with both names there for a moment. */
int sluice_rename_new(int old_folder, const char *old_path, int new_folder, const char *new_path) {
  if (renameat2(old_folder, old_path, new_folder, new_path, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (linkat(old_folder, old_path, new_folder, new_path, 0) != 0) return -1;
  return unlinkat(old_folder, old_path, 0);
}

/* Opens a path without following a link, before Linux 5.6: one folder after the other. It takes no `..`. */
static int open_stepwise(int folder, const char *path, int flags) {
  char name[NAME_MAX + 1];
  struct stat facts;
  int at = folder, is_own = path[0] == '/', next = -1, is_last = 0, failure;
  if (is_own && (at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) return -1;
  while (!is_last) {
    path += strspn(path, "/");
    size_t length = strcspn(path, "/");
    is_last = path[length + strspn(path + length, "/")] == '\0';
    next = -1;
    errno = length == 0 ? ENOENT : length > NAME_MAX ? ENAMETOOLONG : EXDEV; /* EXDEV: as openat2 for what leaves */
    if (length > 0 && length <= NAME_MAX && !(length == 2 && strncmp(path, "..", 2) == 0)) {
      memcpy(name, path, length);
      name[length] = '\0';
      next = openat(at, name, is_last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (next < 0 && errno == ENOTDIR && fstatat(at, name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
        errno = S_ISLNK(facts.st_mode) ? ELOOP : ENOTDIR;
    }
    failure = errno;
    if (is_own) close(at);
    errno = failure;
    if (next < 0) return -1;
    at = next;
    is_own = 1;
    path += length;
  }
  return next;
}

static int open_resolved(int folder, const char *path, uint64_t resolve) {
  /* Declared here, because some supported systems lack <linux/openat2.h>. */
  const struct {
    uint64_t flags, mode, resolve;
  } how = {O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, resolve};
  int fd = (int)syscall(437 /* openat2 */, folder, path, &how, sizeof how);
  /* EPERM: a filter of system calls that is older than this one, as in old containers. */
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  return open_stepwise(folder, path, (int)how.flags);
}

/* ---- Files that this process has open through SQLite ---- */

/* Beyond these the oldest is given up: a process has one ledger open, and tests have thousands, one after the other. A descriptor
 * of each stays open, so that no other file gets its inode number; one for a path alone cancels no locks where it is closed. */
enum { MOST_LOCKED = 24 };
static struct {
  dev_t device;
  ino_t inode;
  int held;
} locked[MOST_LOCKED];
static atomic_int locked_count;

void sluice_keep_locks(const char *path) {
  struct stat facts;
  int held = open(path, O_PATH | O_CLOEXEC);
  if (held < 0) return;
  int count = atomic_load(&locked_count);
  int is_known = fstat(held, &facts) != 0;
  for (int at = 0; at < count && at < MOST_LOCKED; at++)
    if (locked[at].device == facts.st_dev && locked[at].inode == facts.st_ino) is_known = 1;
  if (is_known) {
    close(held);
    return;
  }
  int at = count % MOST_LOCKED;
  if (count >= MOST_LOCKED) close(locked[at].held);
  locked[at].device = facts.st_dev;
  locked[at].inode = facts.st_ino;
  locked[at].held = held;
  atomic_store(&locked_count, count + 1);
}

/* A descriptor of such a file stays open for good: to close it would cancel SQLite's locks. */
static int refuse_locked(int fd) {
  struct stat facts;
  int count = atomic_load(&locked_count);
  if (fd < 0 || count == 0 || fstat(fd, &facts) != 0) return fd;
  for (int at = 0; at < count && at < MOST_LOCKED; at++) {
    if (locked[at].device != facts.st_dev || locked[at].inode != facts.st_ino) continue;
    errno = EBUSY;
    return -1;
  }
  return fd;
}

int sluice_open_source(const char *path) {
  return refuse_locked(open_resolved(AT_FDCWD, path, 0x04 /* RESOLVE_NO_SYMLINKS */));
}

/* The kernel grants a read lease only on a file that no one has open for writing (fcntl(2)). A writer that comes while
 * the lease is held waits, and this process gets a signal: SIGURG, which does nothing, in place of SIGIO, which kills. */
int sluice_has_writer(const char *path) {
  int fd = sluice_open_source(path);
  if (fd < 0) return -1;
  int result = -1;
  if (fcntl(fd, F_SETSIG, SIGURG) == 0) {
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
      result = 0;
      fcntl(fd, F_SETLEASE, F_UNLCK);
    } else if (errno == EAGAIN) {
      result = 1;
    }
  }
  close(fd);
  return result;
}

int sluice_lock_to_read(int fd) {
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &lock);
}

int sluice_open_below(int folder, const char *path) {
  return open_resolved(folder, path, 0x04 | 0x08 /* RESOLVE_BENEATH */);
}

int sluice_same_content(int folder, const char *first, const char *second) {
  char pieces[2][16384];
  int result = -1;
  int one = openat(folder, first, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  int other = openat(folder, second, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  for (off_t offset = 0; one >= 0 && other >= 0;) {
    ssize_t a = pread(one, pieces[0], sizeof pieces[0], offset);
    ssize_t b = pread(other, pieces[1], sizeof pieces[1], offset);
    if (a < 0 || b < 0) break;
    if (a != b || memcmp(pieces[0], pieces[1], (size_t)a) != 0) result = 0;
    else if (a == 0) result = 1;
    if (result >= 0) break;
    offset += a;
  }
  if (one >= 0) close(one);
  if (other >= 0) close(other);
  return result;
}

void sluice_start_sync(int fd) { sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }

int sluice_set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int sluice_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  return sluice_set_nonblocking(ends[0]);
}
int sluice_reserve(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }

int sluice_copy_to(int from, int64_t count, int to, int64_t place) {
  off_t start = 0, target = place;
  while (count > 0) {
    ssize_t done = copy_file_range(from, &start, to, &target, (size_t)count, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = EIO; /* it is shorter than it was */
    if (done <= 0) return -1;
    count -= done;
  }
  return 0;
}

int sluice_is_encrypted(const char *path) {
  struct statx facts;
  if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &facts) != 0) return -1;
  if (!(facts.stx_attributes_mask & STATX_ATTR_ENCRYPTED)) return -1;
  return (facts.stx_attributes & STATX_ATTR_ENCRYPTED) != 0;
}

uint32_t sluice_file_type(uint32_t mode) { return mode & S_IFMT; }

int sluice_sync_all(int fd) { return syncfs(fd); }
