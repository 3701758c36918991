/* A library that is preloaded (LD_PRELOAD) into the coordinator and its workers, and intercepts calls to the
 * C library. It counts the calls by process, call and kind of file; at a chosen call it kills the process,
 * fails the call, or makes it short. It can keep a journal of all file operations below one folder.
 *
 * FAULTS_PAGE names the shared page's file, FAULTS_JOURNAL the journal's (optional), FAULTS_HOME the
 * folder. */
#define _GNU_SOURCE
#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
#define DESCRIPTORS 1024
#define JOURNAL_FD 900

static faults_page *page;
static char process[16] = "other";
static char home[PATH_MAX];
static size_t home_length;
static int journal = -1;

static struct descriptor {
  const char *kind; /* NULL: not counted */
  uint64_t ino;     /* in the journal; 0: not below the home */
  char path[256];   /* below the home */
} descriptors[DESCRIPTORS];

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

/* ---- Kinds of files ---- */

static int ends(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* A path relative to the home; NULL: it lies elsewhere. */
static const char *below_home(const char *path) {
  if (!home_length || strncmp(path, home, home_length) != 0) return NULL;
  if (path[home_length] == 0) return "";
  return path[home_length] == '/' ? path + home_length + 1 : NULL;
}

static const char *kind_of(const char *path) {
  const char *inner = below_home(path);
  if (!inner) return NULL;
  if (*inner == 0) return "home";
  if (ends(inner, "sluice.db")) return "ledger";
  if (ends(inner, "sluice.db-wal")) return "wal";
  if (ends(inner, "sluice.db-shm")) return "shm";
  if (ends(inner, "sluice.db-journal")) return "journal";
  if (ends(inner, "sluice.lock")) return "lock";
  if (ends(inner, "reserve")) return "reserve";
  if (strcmp(inner, "store") == 0) return "store";
  if (ends(inner, "/.incoming")) return "incoming";
  if (strstr(inner, "/.incoming/")) return "object";
  if (strncmp(inner, "store/", 6) == 0) return "stored";
  return "events";
}

/* The absolute path of a call's argument. */
static int resolve(int folder, const char *path, char *whole) {
  if (path[0] == '/') return snprintf(whole, PATH_MAX, "%s", path) < PATH_MAX;
  if (folder == AT_FDCWD) {
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here)) return 0;
    return snprintf(whole, PATH_MAX, "%s/%s", here, path) < PATH_MAX;
  }
  if (folder < 0 || folder >= DESCRIPTORS || !descriptors[folder].kind) return 0;
  const char *inner = descriptors[folder].path;
  return snprintf(whole, PATH_MAX, "%s%s%s/%s", home, *inner ? "/" : "", inner, path) < PATH_MAX;
}

static const char *kind_at(int folder, const char *path) {
  char whole[PATH_MAX];
  return resolve(folder, path, whole) ? kind_of(whole) : NULL;
}

static const char *kind(int fd) {
  if (fd >= 0 && fd < DESCRIPTORS && descriptors[fd].kind) return descriptors[fd].kind;
  return NULL;
}

/* ---- Points ---- */

static uint32_t point(const char *name) {
  uint32_t count = __atomic_load_n(&page->count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count && i < FAULTS_POINTS; i++)
    if (strcmp(page->points[i].name, name) == 0) return i;
  uint32_t made = __atomic_fetch_add(&page->count, 1, __ATOMIC_ACQ_REL);
  if (made >= FAULTS_POINTS) return FAULTS_POINTS;
  strncpy(page->points[made].name, name, FAULTS_NAME - 1); /* two may add the same: tests add them up */
  return made;
}

/* Counts a call, and returns the fault to make. */
static uint32_t arrive(const char *call, const char *what) {
  if (!page || !what) return FAULTS_NONE;
  char name[FAULTS_NAME];
  snprintf(name, sizeof name, "%s %s %s", process, call, what);
  uint32_t index = point(name);
  if (index < FAULTS_POINTS) __atomic_fetch_add(&page->points[index].seen, 1, __ATOMIC_RELAXED);
  if (page->action == FAULTS_NONE) return FAULTS_NONE;
  const char *match = page->match;
  size_t length = strlen(match);
  /* "* fsync": in any process. */
  const char *from = match[0] == '*' ? strchr(name, ' ') : name;
  if (match[0] == '*') match++, length--;
  if (strncmp(from, match, length) != 0) return FAULTS_NONE;
  uint64_t seen = __atomic_add_fetch(&page->seen, 1, __ATOMIC_ACQ_REL);
  if (page->forever ? seen < page->nth : seen != page->nth) return FAULTS_NONE;
  __atomic_fetch_add(&page->fired, 1, __ATOMIC_RELAXED);
  if (page->action == FAULTS_KILL_BEFORE) raise(SIGKILL);
  return page->action;
}

static void leave(uint32_t action) {
  if (action == FAULTS_KILL_AFTER) {
    int kept = errno;
    raise(SIGKILL);
    errno = kept;
  }
}

#define FAILS(action) ((action) == FAULTS_FAIL ? (errno = page->error, 1) : 0)

/* ---- The journal ---- */

static void record(uint16_t op, uint16_t flag, uint64_t ino, uint64_t offset, const char *path, const char *other,
                   const void *data, size_t size) {
  if (journal < 0) return;
  int kept = errno;
  faults_record head = {.op = op, .flag = flag, .ino = ino, .offset = offset, .data = size};
  head.path = path ? (uint32_t)strlen(path) : 0;
  head.other = other ? (uint32_t)strlen(other) : 0;
  head.size = (uint32_t)(sizeof head + head.path + head.other + size);
  struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)other, head.other}, {(void *)data, size}};
  (void)!syscall(SYS_writev, journal, parts, 4); /* one write in append mode: complete, and in order */
  errno = kept;
}

static uint64_t inode(int fd, int *is_folder) {
  struct stat facts;
  if (syscall(SYS_fstat, fd, &facts) != 0) return 0;
  if (is_folder) *is_folder = S_ISDIR(facts.st_mode);
  return facts.st_ino;
}

static int journaled(int fd) {
  return journal >= 0 && fd >= 0 && fd < DESCRIPTORS && descriptors[fd].ino && strcmp(descriptors[fd].kind, "shm") != 0;
}

/* Records an opened descriptor. */
static int opened(int fd, int folder, const char *path, int flags, int was_there) {
  if (fd < 0 || fd >= DESCRIPTORS || fd == JOURNAL_FD) return fd;
  int kept = errno;
  char whole[PATH_MAX];
  memset(&descriptors[fd], 0, sizeof descriptors[fd]);
  if (resolve(folder, path, whole) && kind_of(whole)) {
    const char *inner = below_home(whole);
    descriptors[fd].kind = kind_of(whole);
    snprintf(descriptors[fd].path, sizeof descriptors[fd].path, "%s", inner);
    int is_folder = 0;
    descriptors[fd].ino = inode(fd, &is_folder);
    record(FAULTS_OPEN, is_folder ? 2 : (flags & O_CREAT) && !was_there, descriptors[fd].ino, 0, inner, NULL, NULL, 0);
    if (flags & O_TRUNC && was_there) record(FAULTS_TRUNCATE, 0, descriptors[fd].ino, 0, NULL, NULL, NULL, 0);
  } else if (folder == AT_FDCWD && strstr(path, "/input/")) {
    descriptors[fd].kind = "source";
  }
  errno = kept;
  return fd;
}

static int is_there(int folder, const char *path) {
  if (journal < 0) return 1;
  int kept = errno;
  int there = syscall(SYS_faccessat, folder, path, F_OK) == 0;
  errno = kept;
  return there;
}

/* ---- The calls ---- */

static int open_any(int folder, const char *path, int flags, mode_t mode) {
  const char *what = kind_at(folder, path);
  uint32_t action = arrive("open", what);
  if (FAILS(action)) return -1;
  int there = flags & O_CREAT ? is_there(folder, path) : 1;
  int fd = opened((int)syscall(SYS_openat, folder, path, flags, mode), folder, path, flags, there);
  leave(action);
  return fd;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list more; \
    va_start(more, flags); \
    mode = va_arg(more, mode_t); \
    va_end(more); \
  }

int open(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return open_any(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return open_any(folder, path, flags, mode); }

int close(int fd) {
  if (fd >= 0 && fd < DESCRIPTORS && fd != JOURNAL_FD) memset(&descriptors[fd], 0, sizeof descriptors[fd]);
  return (int)syscall(SYS_close, fd);
}

/* closedir(3) closes its descriptor without calling close(3). */
int closedir(DIR *folder) {
  const int fd = dirfd(folder);
  if (fd >= 0 && fd < DESCRIPTORS) memset(&descriptors[fd], 0, sizeof descriptors[fd]);
  return REAL(closedir)(folder);
}

ssize_t write(int fd, const void *data, size_t size) {
  const char *what = fd == 1 && strcmp(process, "coordinator") == 0 ? "output" : kind(fd);
  uint32_t action = arrive("write", what);
  if (FAILS(action)) return -1;
  if (action == FAULTS_SHORT && size > 1) size /= 2;
  ssize_t count = syscall(SYS_write, fd, data, size);
  if (count > 0 && what && strcmp(what, "output") == 0) record(FAULTS_TOLD, 0, 0, 0, NULL, NULL, data, (size_t)count);
  if (count > 0 && journaled(fd)) {
    uint64_t end = (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
    record(FAULTS_WRITE, 0, descriptors[fd].ino, end - (uint64_t)count, NULL, NULL, data, (size_t)count);
  }
  leave(action);
  return count;
}

static ssize_t pwrite_any(int fd, const void *data, size_t size, off_t offset) {
  uint32_t action = arrive("write", kind(fd));
  if (FAILS(action)) return -1;
  if (action == FAULTS_SHORT && size > 1) size /= 2;
  ssize_t count = syscall(SYS_pwrite64, fd, data, size, offset);
  if (count > 0 && journaled(fd))
    record(FAULTS_WRITE, 0, descriptors[fd].ino, (uint64_t)offset, NULL, NULL, data, (size_t)count);
  leave(action);
  return count;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite_any(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return pwrite_any(fd, data, size, offset); }

/* A copy within the kernel, from an offset to where the other descriptor is: as a write, so that the journal has what was written. */
ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags) {
  (void)to_offset;
  (void)flags;
  char room[64 << 10];
  ssize_t count = syscall(SYS_pread64, from, room, size < sizeof room ? size : sizeof room, *from_offset);
  if (count > 0) count = write(to, room, (size_t)count);
  if (count > 0) *from_offset += count;
  return count;
}

static int sync_any(const char *call, long number, int fd) {
  uint32_t action = arrive(call, kind(fd));
  if (FAILS(action)) return -1;
  int result = (int)syscall(number, fd);
  if (result == 0 && journaled(fd)) record(FAULTS_SYNC, 0, descriptors[fd].ino, 0, descriptors[fd].path, NULL, NULL, 0);
  leave(action);
  return result;
}

int fsync(int fd) { return sync_any("fsync", SYS_fsync, fd); }
int fdatasync(int fd) { return sync_any("fdatasync", SYS_fdatasync, fd); }

static int truncate_any(int fd, off_t length) {
  uint32_t action = arrive("ftruncate", kind(fd));
  if (FAILS(action)) return -1;
  int result = (int)syscall(SYS_ftruncate, fd, length);
  if (result == 0 && journaled(fd)) record(FAULTS_TRUNCATE, 0, descriptors[fd].ino, (uint64_t)length, NULL, NULL, NULL, 0);
  leave(action);
  return result;
}

int ftruncate(int fd, off_t length) { return truncate_any(fd, length); }
int ftruncate64(int fd, off_t length) { return truncate_any(fd, length); }

/* Calls that change names: the point is named after the new name. */
static int names(const char *call, uint16_t op, long number, int folder, const char *path, int other_folder,
                 const char *other, unsigned flags) {
  char whole[PATH_MAX], target[PATH_MAX];
  int known = resolve(folder, path, whole) && resolve(other_folder, other, target) && below_home(whole) && below_home(target);
  uint32_t action = arrive(call, known ? kind_of(target) : NULL);
  if (FAILS(action)) return -1;
  int result = (int)syscall(number, folder, path, other_folder, other, flags);
  if (result == 0 && known) record(op, 0, 0, 0, below_home(whole), below_home(target), NULL, 0);
  leave(action);
  return result;
}

int rename(const char *path, const char *other) {
  return names("rename", FAULTS_RENAME, SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 0);
}
int renameat(int folder, const char *path, int other_folder, const char *other) {
  return names("rename", FAULTS_RENAME, SYS_renameat2, folder, path, other_folder, other, 0);
}
int renameat2(int folder, const char *path, int other_folder, const char *other, unsigned flags) {
  return names("rename", FAULTS_RENAME, SYS_renameat2, folder, path, other_folder, other, flags);
}
int linkat(int folder, const char *path, int other_folder, const char *other, int flags) {
  return names("link", FAULTS_LINK, SYS_linkat, folder, path, other_folder, other, (unsigned)flags);
}

static int unlink_any(int folder, const char *path, int flags) {
  char whole[PATH_MAX];
  int known = resolve(folder, path, whole) && below_home(whole);
  uint32_t action = arrive("unlink", known ? kind_of(whole) : NULL);
  if (FAILS(action)) return -1;
  int result = (int)syscall(SYS_unlinkat, folder, path, flags);
  if (result == 0 && known) record(FAULTS_UNLINK, 0, 0, 0, below_home(whole), NULL, NULL, 0);
  leave(action);
  return result;
}

int unlink(const char *path) { return unlink_any(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return unlink_any(folder, path, flags); }

static int mkdir_any(int folder, const char *path, mode_t mode) {
  char whole[PATH_MAX];
  int known = resolve(folder, path, whole) && below_home(whole);
  uint32_t action = arrive("mkdir", known ? kind_of(whole) : NULL);
  if (FAILS(action)) return -1;
  int result = (int)syscall(SYS_mkdirat, folder, path, mode);
  if (result == 0 && known) record(FAULTS_MKDIR, 0, 0, 0, below_home(whole), NULL, NULL, 0);
  leave(action);
  return result;
}

int mkdir(const char *path, mode_t mode) { return mkdir_any(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return mkdir_any(folder, path, mode); }

/* Only the sockets between coordinator and workers carry messages. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  uint32_t action = arrive("sendmsg", "frame");
  if (FAILS(action)) return -1;
  ssize_t count = syscall(SYS_sendmsg, fd, message, flags);
  leave(action);
  return count;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  /* A call that would find nothing does not count: it may occur any number of times. */
  char first;
  struct iovec part = {&first, 1};
  struct msghdr look = {.msg_iov = &part, .msg_iovlen = 1};
  if (syscall(SYS_recvmsg, fd, &look, MSG_PEEK | (flags & MSG_DONTWAIT)) <= 0)
    return syscall(SYS_recvmsg, fd, message, flags);
  uint32_t action = arrive("recvmsg", "frame");
  if (FAILS(action)) return -1;
  ssize_t count = syscall(SYS_recvmsg, fd, message, flags);
  leave(action);
  return count;
}

/* ---- Processes ---- */

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const words[], char *const environment[]) {
  if (!page || !ends(path, "/sluice-worker")) return REAL(posix_spawn)(pid, path, actions, attributes, words, environment);
  uint32_t action = arrive("spawn", "worker");
  if (action == FAULTS_FAIL) return page->error;
  const char *kept[] = {"LD_PRELOAD", "FAULTS_PAGE", "FAULTS_JOURNAL", "FAULTS_HOME"};
  char *more[32];
  size_t count = 0;
  while (environment[count] && count < 24) more[count] = environment[count], count++;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    const char *value = getenv(kept[i]);
    char *entry = value ? malloc(strlen(kept[i]) + strlen(value) + 2) : NULL;
    if (!entry) continue;
    sprintf(entry, "%s=%s", kept[i], value);
    more[count++] = entry;
  }
  more[count] = NULL;
  int result = REAL(posix_spawn)(pid, path, actions, attributes, words, more);
  leave(action);
  return result;
}

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULTS_PAGE"), *folder = getenv("FAULTS_HOME"), *log = getenv("FAULTS_JOURNAL");
  if (!file || !folder) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof(faults_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (mapped == MAP_FAILED) return;
  snprintf(home, sizeof home, "%s", folder);
  home_length = strlen(home);
  char text[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
  text[length > 0 ? length : 0] = 0;
  if (ends(text, "/sluice")) strcpy(process, "coordinator");
  if (ends(text, "/sluice-worker")) {
    /* The granted folder tells what the worker is for. */
    length = readlink("/proc/self/fd/5", text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    const char *inner = below_home(text);
    strcpy(process, !inner ? "worker" : *inner ? "store" : "channel");
    if (inner) {
      descriptors[5].kind = kind_of(text);
      descriptors[5].ino = inode(5, NULL);
      snprintf(descriptors[5].path, sizeof descriptors[5].path, "%s", inner);
    }
  }
  if (log) {
    int opened = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (opened >= 0 && dup3(opened, JOURNAL_FD, O_CLOEXEC) == JOURNAL_FD) journal = JOURNAL_FD;
    if (opened >= 0) syscall(SYS_close, opened);
  }
  page = mapped;
}
