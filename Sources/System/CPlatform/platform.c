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

int sluice_memory_reader(int memory) {
  /* Not sealed against shrinking: sluice_empty frees the memory by truncating, even while others hold
   * descriptors. */
  if (fcntl(memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE) != 0) return -1;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  return open(path, O_RDONLY | O_CLOEXEC);
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
  return sluice_memory_reader(to);
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

int sluice_terminate_after(int64_t milliseconds) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
  struct itimerspec time = {.it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}};
  timer_t timer;
  return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 ? timer_settime(timer, 0, &time, NULL) : -1;
}

int sluice_signal_take(int fd) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* ---- Others ---- */

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
