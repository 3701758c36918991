#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Processes ---- */

void sluice_hold_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* takes the lowest */
}

int sluice_spawn(pid_t *pid, const char *path, char *const argv[], char *const envp[], int control, int status,
                 int folder, int standard_output, int standard_error) {
  const int attached = standard_error < 0;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigemptyset(&none);
  sigfillset(&all);
  if (!error && !attached) error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  if (!error && !attached)
    error = posix_spawn_file_actions_adddup2(&actions, standard_output < 0 ? 0 : standard_output, 1);
  if (!error && !attached) error = posix_spawn_file_actions_adddup2(&actions, standard_error, 2);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, control, SLUICE_FD_CONTROL);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, status, SLUICE_FD_STATUS);
  if (!error && folder < 0) error = posix_spawn_file_actions_addopen(&actions, SLUICE_FD_FOLDER, "/dev/null", O_RDWR, 0);
  if (!error && folder >= 0) error = posix_spawn_file_actions_adddup2(&actions, folder, SLUICE_FD_FOLDER);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, SLUICE_FD_FOLDER + 1);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
  if (!error)
    error = posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (attached ? 0 : POSIX_SPAWN_SETPGROUP));
  if (!error) error = posix_spawn(pid, path, &actions, &attributes, argv, envp);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int sluice_wait(pid_t pid, int *exit_code, int *signal_number) {
  int status;
  pid_t ended;
  siginfo_t info = {0};
  int found;
  do found = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
  while (found < 0 && errno == EINTR);
  if (found == 0 && info.si_pid == 0) return 0;
  kill(-pid, SIGKILL); /* until it is waited for, its pid is not reused */
  do ended = waitpid(pid, &status, WNOHANG);
  while (ended < 0 && errno == EINTR);
  if (ended == 0) return 0;
  if (ended < 0) return -1;
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  *signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return 1;
}

int sluice_die_with(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
  return getppid() == parent ? 0 : -1; /* it may have ended before the call */
}

int sluice_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
int sluice_pidfd_kill(int pidfd) { return (int)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); }

/* ---- Memory ---- */

int sluice_memfd(const char *name, int sealable) {
  return memfd_create(name, MFD_CLOEXEC | (sealable ? MFD_ALLOW_SEALING : 0));
}

int sluice_seal(int fd) {
  return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

void sluice_empty(int fd) {
  if (ftruncate(fd, 0) == 0) fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW);
}

int sluice_move_content(int from, int to) {
  enum { PIECE = 1 << 20 };
  struct stat facts;
  if (fstat(from, &facts) != 0) return -1;
  for (off_t done = 0; done < facts.st_size;) {
    off_t start = done;
    size_t piece = facts.st_size - done < PIECE ? (size_t)(facts.st_size - done) : PIECE;
    ssize_t count = sendfile(to, from, &done, piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) errno = EIO; /* another process has truncated the file meanwhile */
      return -1;
    }
    fallocate(from, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, count);
  }
  /* Not sealed against shrinking: sluice_empty frees the memory by truncating, even while others hold
   * descriptors. */
  if (fcntl(to, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE) != 0) return -1;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", to);
  return open(path, O_RDONLY | O_CLOEXEC);
}

int sluice_thread_count(pid_t pid) {
  char path[32];
  struct stat tasks;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  return stat(path, &tasks) == 0 ? (int)tasks.st_nlink - 2 : -1; /* `.` and `..` */
}

/* ---- Sockets ---- */

int sluice_socketpair(int sockets[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets); }

static int unix_address(const char *path, struct sockaddr_un *address) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address->sun_path, path);
  return 0;
}

/* Only the owner may connect. Before listen(2) no process can connect, and the mode is set by then. */
int sluice_listen(const char *path) {
  struct sockaddr_un address;
  if (unix_address(path, &address) != 0) return -1;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && chmod(path, 0600) == 0 && listen(fd, 128) == 0) {
    return fd;
  }
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int sluice_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC); }

int sluice_accept_at_once(int fd, void *peer) {
  socklen_t length = sizeof(struct sockaddr_storage);
  return accept4(fd, peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static int limit_waiting(int fd, int option, int milliseconds) {
  struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
  return setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit);
}

int sluice_limit_receiving(int fd, int milliseconds) { return limit_waiting(fd, SO_RCVTIMEO, milliseconds); }
int sluice_limit_sending(int fd, int milliseconds) { return limit_waiting(fd, SO_SNDTIMEO, milliseconds); }

int sluice_connect(const char *path, int milliseconds) {
  struct sockaddr_un address;
  if (unix_address(path, &address) != 0) return -1;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  limit_waiting(fd, SO_SNDTIMEO, milliseconds); /* connect(2) has the same limit */
  limit_waiting(fd, SO_RCVTIMEO, milliseconds);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

ssize_t sluice_send(int fd, const void *bytes, size_t count, const int *fds, int fd_count, int nonblocking) {
  union {
    char room[CMSG_SPACE(4 * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd_count > 4) {
    errno = EINVAL;
    return -1;
  }
  if (fd_count > 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.room;
    message.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, (size_t)fd_count * sizeof(int));
  }
  ssize_t sent;
  do sent = sendmsg(fd, &message, MSG_NOSIGNAL | (nonblocking ? MSG_DONTWAIT : 0));
  while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t sluice_receive(int fd, void *bytes, size_t capacity, int *fds, int *fd_count, int nonblocking) {
  union {
    char room[CMSG_SPACE(4 * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  int room = fds ? *fd_count : 0, taken = 0;
  if (fds) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    *fd_count = 0;
  }
  ssize_t count;
  do count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | (nonblocking ? MSG_DONTWAIT : 0));
  while (count < 0 && errno == EINTR);
  if (count < 0) return -1;
  for (struct cmsghdr *header = fds ? CMSG_FIRSTHDR(&message) : NULL; header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int here = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < here; i++) {
      int received;
      memcpy(&received, CMSG_DATA(header) + (size_t)i * sizeof(int), sizeof(int));
      if (taken < room) fds[taken++] = received;
      else close(received);
    }
  }
  if (fds) *fd_count = taken;
  if (message.msg_flags & MSG_TRUNC) {
    for (int i = 0; i < taken; i++) close(fds[i]);
    if (fds) *fd_count = 0;
    errno = EMSGSIZE;
    return -1;
  }
  return count;
}

/* ---- Events ---- */

int sluice_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int epoll_set(int epoll, int operation, int fd, uint64_t tag, int readable, int writable) {
  uint32_t events = (readable & 1 ? EPOLLIN : 0) | (readable & SLUICE_ENDS ? EPOLLRDHUP : 0) | (writable ? EPOLLOUT : 0);
  struct epoll_event event = {.events = events, .data.u64 = tag};
  return epoll_ctl(epoll, operation, fd, &event);
}

int sluice_epoll_add(int epoll, int fd, uint64_t tag, int readable, int writable) {
  return epoll_set(epoll, EPOLL_CTL_ADD, fd, tag, readable, writable);
}

int sluice_epoll_change(int epoll, int fd, uint64_t tag, int readable, int writable) {
  return epoll_set(epoll, EPOLL_CTL_MOD, fd, tag, readable, writable);
}

int sluice_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL); }

int sluice_epoll_wait(int epoll, sluice_ready *ready, int capacity, int milliseconds) {
  struct epoll_event events[64];
  if (capacity > 64) capacity = 64;
  int count = epoll_wait(epoll, events, capacity, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count; i++) {
    ready[i].tag = events[i].data.u64;
    ready[i].readable = (events[i].events & EPOLLIN) != 0;
    ready[i].writable = (events[i].events & EPOLLOUT) != 0;
    ready[i].hangup = (events[i].events & EPOLLRDHUP ? SLUICE_ENDS : 0) | (events[i].events & (EPOLLHUP | EPOLLERR) ? SLUICE_CLOSED : 0);
  }
  return count;
}

int sluice_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void sluice_eventfd_raise(int fd) {
  uint64_t one = 1;
  while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {}
}

void sluice_eventfd_clear(int fd) {
  uint64_t count;
  while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {}
}

int sluice_signalfd(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP); /* sent when the terminal closes; if it is ignored (nohup), it stays ignored */
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return -1;
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int sluice_signal_take(int fd) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* ---- Files ---- */

/* Renames without replacing: EEXIST where the new path is taken. Where the file system lacks RENAME_NOREPLACE
 * (EINVAL), a link and an unlink do the same, with both names there for a moment. */
int sluice_has_no_writer(int fd) {
  /* Who opens the file meanwhile to write breaks the lease: the signal for that, SIGIO, would end the process. */
  if (fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return 0;
  return fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

ssize_t sluice_copy(int from, off_t *offset, int to, size_t count) {
  return copy_file_range(from, offset, to, NULL, count, 0);
}

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
  if (fd >= 0 || errno != ENOSYS) return fd;
  return open_stepwise(folder, path, (int)how.flags);
}

int sluice_open_source(const char *path) { return open_resolved(AT_FDCWD, path, 0x04 /* RESOLVE_NO_SYMLINKS */); }

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

int sluice_parse_time(const char *text, const char *format, int64_t *seconds) {
  struct tm parts = {0};
  const char *end = strptime(text, format, &parts);
  if (!end || *end) return -1;
  *seconds = timegm(&parts);
  return 0;
}

int sluice_fcntl_dup_above(int fd, int least) { return fcntl(fd, F_DUPFD_CLOEXEC, least); }

int sluice_terminal_width(int fd) {
  struct winsize size;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 0;
}

int sluice_random(void *bytes, size_t count) {
  while (count > 0) {
    ssize_t got = getrandom(bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    bytes = (char *)bytes + got;
    count -= (size_t)got;
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
