/* The input of every act of the escaping stage, and how it reports the result.
 *
 * The stage's own report never proves that it was contained: the test inspects the surroundings. */
#ifndef ESCAPE_H
#define ESCAPE_H

#define _GNU_SOURCE
#include <sluice/stage.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL 3 /* the worker's socket to its coordinator */
#define FOLDER 5  /* the store's folder, for those that have one */

/* The context of one act, from the content: a word and its value per line. */
struct scene {
  const sluice_host *host;
  sluice_call *call;
  int content;
  int has_folder;
  char act[64];
  char world[256];   /* a folder with a secret, files to change and sockets to reach */
  char store[300];   /* the store's folder, by path */
  char abstract[64]; /* an abstract socket */
  int tcp, udp;      /* ports on 127.0.0.1 */
  pid_t parent, canary; /* the coordinator; a process of the same user */
  int signal;        /* one that no other process sends to the canary */
  char *buffer;      /* in the canary's memory: one byte is for this act to change */
};

typedef sluice_verdict (*act_function)(struct scene *scene);

struct act {
  const char *name;
  act_function function;
};

/* ---- The result ---- */

static inline sluice_verdict say(struct scene *scene, const char *code, const char *format, va_list values) {
  char sentence[900];
  vsnprintf(sentence, sizeof sentence, format, values);
  scene->host->explain(scene->call, code, sentence);
  return SLUICE_REJECT;
}

__attribute__((format(printf, 2, 3))) static inline sluice_verdict achieved(struct scene *scene, const char *format, ...) {
  va_list values;
  va_start(values, format);
  sluice_verdict verdict = say(scene, "achieved", format, values);
  va_end(values);
  return verdict;
}

/* An inconclusive result: the test that sees it does not test what it should. */
__attribute__((format(printf, 2, 3))) static inline sluice_verdict unclear(struct scene *scene, const char *format, ...) {
  va_list values;
  va_start(values, format);
  sluice_verdict verdict = say(scene, "unclear", format, values);
  va_end(values);
  return verdict;
}

__attribute__((format(printf, 2, 3))) static inline sluice_verdict refused(struct scene *scene, const char *format, ...) {
  va_list values;
  va_start(values, format);
  sluice_verdict verdict = say(scene, "refused", format, values);
  va_end(values);
  return verdict;
}

/* Whether the error is a denial; a call must not fail for another reason. */
static inline int is_denial(int number) {
  return number == EPERM || number == EACCES || number == EXDEV || number == ENOSYS || number == EAFNOSUPPORT;
}
static inline sluice_verdict denied(struct scene *scene) {
  if (is_denial(errno)) return refused(scene, "%s", strerrorname_np(errno));
  return unclear(scene, "%s", strerrorname_np(errno));
}
/* The denial of a call on the store's folder, which only a stage that stores has. */
static inline sluice_verdict denied_folder(struct scene *scene) {
  return errno == EBADF && !scene->has_folder ? refused(scene, "EBADF") : denied(scene);
}

/* The answer of a call that should not reach the kernel: any answer but a denial came from outside the
 * sandbox. */
static inline sluice_verdict answered(struct scene *scene, long result) {
  if (result >= 0) return achieved(scene, "the kernel did it: %ld", result);
  if (is_denial(errno)) return denied(scene);
  return achieved(scene, "the kernel was asked, and says %s", strerrorname_np(errno));
}

/* ---- The surroundings ---- */

struct path {
  char text[700];
};

__attribute__((format(printf, 1, 2))) static inline struct path path(const char *format, ...) {
  struct path made;
  va_list values;
  va_start(values, format);
  vsnprintf(made.text, sizeof made.text, format, values);
  va_end(values);
  return made;
}

static inline struct path secret(const struct scene *scene) { return path("%s/secret", scene->world); }
/* A file that only this act would change, and a name that only this act would create. */
static inline struct path target(const struct scene *scene) { return path("%s/out/%s", scene->world, scene->act); }
static inline struct path novelty(const struct scene *scene) { return path("%s/out/made-%s", scene->world, scene->act); }

/* The data read from a descriptor goes into the message, so that a secret shows. */
static inline sluice_verdict read_from(struct scene *scene, int fd) {
  char text[512] = {0};
  if (fd < 0) return denied(scene);
  ssize_t count = read(fd, text, sizeof text - 1);
  if (count < 0) return denied(scene);
  for (ssize_t i = 0; i < count; i++)
    if (text[i] == 0 || text[i] == '\n') text[i] = ' ';
  return achieved(scene, "read %s", text);
}

static inline sluice_verdict write_to(struct scene *scene, int fd) {
  if (fd < 0) return denied(scene);
  if (pwrite(fd, "changed", 7, 0) != 7) return denied(scene);
  return achieved(scene, "wrote");
}

#endif
