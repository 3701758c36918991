/* Leaves objects beside a text: `head`, its first 64 bytes, and `constant`, which is the same of all. A text that begins with
 * `reject` is rejected after that, and of one that begins with `act` the word after it says what else is done. */
#include <sluice/stage.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* What is the same of all: of another version it may be otherwise. */
#ifndef CONSTANT
#define CONSTANT "the same\n"
#endif

struct derive {
  const sluice_host *host;
};

static sluice_verdict start(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  struct derive *self = calloc(1, sizeof *self);
  self->host = opening->host;
  opening->host->repeatable(opening->call, "1");
  *instance = self;
  return SLUICE_PASS;
}

static int leave(const sluice_derivation *table, sluice_call *call, const char *name, const void *bytes, size_t count) {
  int file = table->begin(call, name, "text/plain");
  return file < 0 ? 0 : write(file, bytes, count) == (ssize_t)count ? 0 : -1;
}

static void act(const sluice_derivation *table, sluice_call *call, const char *what) {
  if (strncmp(what, "many", 4) == 0) {
    for (int i = 0; i < 100; i++) {
      char name[16];
      snprintf(name, sizeof name, "n-%d", i);
      leave(table, call, name, name, strlen(name));
    }
  } else if (strncmp(what, "names", 5) == 0) {
    const char *names[] = {"", "../x", "A", "a b", "-a", "a-", "a--b", "a/b", "\xff"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) leave(table, call, names[i], "x", 1);
  } else if (strncmp(what, "twice", 5) == 0) {
    leave(table, call, "head", "later", 5);
  } else if (strncmp(what, "cut", 3) == 0) {
    int file = table->begin(call, "cut", "text/plain");
    if (write(file, "0123456789", 10) == 10 && ftruncate(file, 0) != 0) abort();
  } else if (strncmp(what, "flood", 5) == 0) {
    static char room[1 << 20];
    int file = table->begin(call, "flood", "text/plain");
    for (int i = 0; i < 100; i++) if (write(file, room, sizeof room) < 0) return;
  } else if (strncmp(what, "much", 4) == 0) {
    static char room[2 << 20];
    leave(table, call, "much", room, sizeof room);
  } else if (strncmp(what, "crash", 5) == 0) {
    abort();
  }
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  struct derive *self = instance;
  const sluice_derivation *table = self->host->extension(call, SLUICE_EXTENSION_DERIVATION);
  char room[65] = {0};
  ssize_t count = read(attachment->content, room, 64);
  if (count < 0 || !table) return SLUICE_FAIL;
  if (leave(table, call, "head", room, (size_t)count) != 0) return SLUICE_FAIL;
  if (leave(table, call, "constant", CONSTANT, strlen(CONSTANT)) != 0) return SLUICE_FAIL;
  if (strncmp(room, "act ", 4) == 0) act(table, call, room + 4);
  if (strncmp(room, "reject", 6) != 0) return SLUICE_PASS;
  self->host->explain(call, "unwanted", "it begins with `reject`");
  return SLUICE_REJECT;
}

static void end(void *instance) { free(instance); }

static const sluice_term codes[] = {{"unwanted", "It begins with `reject`."}};

static const sluice_stage stage = {
  .size = sizeof stage, .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .capability = SLUICE_CONTENT,
  .flags = SLUICE_DERIVES, .code_count = 1, .id = "derive", .version = "1.0.0",
  .summary = "Leaves objects beside a text.", .codes = codes, .open = start, .process = process, .close = end};

const sluice_stage *derive_stage(uint32_t major) { (void)major; return &stage; }
