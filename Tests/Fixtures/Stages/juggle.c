/* A stage of the line that works on many attachments at once. It acts on content that begins with the word `juggle` and the name of
 * an act; everything else passes after 20 ms. Written from the contract's header alone. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

struct piece {
  sluice_call *call; /* NULL: the place is free */
  char act[32];
  int64_t due; /* milliseconds */
  int is_told;
};

struct juggle {
  const sluice_host *host;
  struct piece pieces[MOST];
  sluice_call *ended; /* one that has been settled */
  int most;           /* so many were under way at once */
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static sluice_verdict juggle_open(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  struct juggle *self = calloc(1, sizeof *self);
  if (!self) return SLUICE_FAIL;
  self->host = opening->host;
  *instance = self;
  return SLUICE_PASS;
}

static int count(struct juggle *self) {
  int count = 0;
  for (int i = 0; i < MOST; i++) count += self->pieces[i].call != NULL;
  return count;
}

static sluice_verdict juggle_process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  struct juggle *self = instance;
  char text[80] = {0}, act[32] = "pass";
  int64_t wait = 20;
  pread(attachment->content, text, sizeof text - 1, 0);
  sscanf(text, "juggle %31s %ld", act, &wait);
  if (strcmp(act, "reject-at-once") == 0) {
    self->host->explain(call, "juggled", "at once");
    return SLUICE_REJECT;
  }
  if (strcmp(act, "settle-at-once") == 0) {
    self->host->explain(call, "juggled", "settled at once");
    self->host->settle(call, SLUICE_REJECT);
    return SLUICE_PASS;
  }
  if (strcmp(act, "crash-at-once") == 0) abort();
  if (strcmp(act, "block") == 0)
    for (;;) sleep(1);
  for (int i = 0; i < MOST; i++) {
    struct piece *piece = &self->pieces[i];
    if (piece->call) continue;
    piece->call = call;
    piece->due = now() + wait;
    piece->is_told = 0;
    memcpy(piece->act, act, sizeof act);
    int under_way = count(self);
    if (under_way > self->most) self->most = under_way;
    return SLUICE_PASS;
  }
  self->host->explain(call, "juggled", "too many");
  return SLUICE_FAIL;
}

static void settle(struct juggle *self, struct piece *piece, sluice_verdict verdict) {
  self->ended = piece->call;
  piece->call = NULL;
  self->host->settle(self->ended, verdict);
}

/* 1: a piece was settled. */
static int act(struct juggle *self, struct piece *piece) {
  const sluice_host *host = self->host;
  int is_due = piece->due <= now(), is_unwanted = host->cancelled(piece->call);
  if (is_unwanted && !piece->is_told) {
    fputs("juggle: told to drop one\n", stderr);
    piece->is_told = 1;
  }
  if (strcmp(piece->act, "never") == 0) return 0;
  if (strcmp(piece->act, "until-told") == 0) {
    if (!is_unwanted) return 0;
    settle(self, piece, SLUICE_PASS);
    return 1;
  }
  if (is_unwanted && strcmp(piece->act, "deaf") != 0) {
    host->explain(piece->call, "juggled", "not wanted");
    settle(self, piece, SLUICE_RETRY);
    return 1;
  }
  if (!is_due) return 0;
  if (strcmp(piece->act, "crash") == 0) abort();
  if (strcmp(piece->act, "hang") == 0)
    for (;;) sleep(1);
  host->annotate_integer(piece->call, "juggle.most", self->most);
  if (strcmp(piece->act, "reject") == 0) {
    host->explain(piece->call, "juggled", "told in a turn");
    settle(self, piece, SLUICE_REJECT);
  } else if (strcmp(piece->act, "retry") == 0) {
    host->explain(piece->call, "juggled", "not today");
    settle(self, piece, SLUICE_RETRY);
  } else if (strcmp(piece->act, "twice") == 0) {
    sluice_call *call = piece->call;
    host->explain(call, "juggled", "the first counts");
    settle(self, piece, SLUICE_REJECT);
    host->explain(call, "other", "the second does not");
    host->settle(call, SLUICE_PASS);
  } else if (strcmp(piece->act, "stranger") == 0) {
    host->settle((sluice_call *)(uintptr_t)0xDEAD0, SLUICE_REJECT);
    host->settle(NULL, SLUICE_REJECT);
    settle(self, piece, SLUICE_PASS);
  } else if (strcmp(piece->act, "late") == 0) {
    /* The handle of one that has ended: what is under way now must not hear of it. */
    if (self->ended) {
      host->explain(self->ended, "juggled", "late");
      host->annotate_text(self->ended, "juggle.late", "late");
      host->settle(self->ended, SLUICE_REJECT);
    }
    settle(self, piece, SLUICE_PASS);
  } else {
    settle(self, piece, SLUICE_PASS);
  }
  return 1;
}

static void juggle_turn(void *instance, int32_t wake, int64_t milliseconds) {
  struct juggle *self = instance;
  int64_t end = now() + milliseconds;
  do {
    int has_settled = 0;
    for (int i = 0; i < MOST; i++)
      if (self->pieces[i].call) has_settled |= act(self, &self->pieces[i]);
    if (has_settled) return;
    struct pollfd state = {.fd = wake, .events = POLLIN};
    if (poll(&state, 1, 5) > 0) return;
  } while (now() < end);
}

static sluice_verdict juggle_flush(void *instance, sluice_call *call) {
  (void)call;
  while (count(instance) > 0) juggle_turn(instance, -1, 1000);
  return SLUICE_PASS;
}

static void juggle_close(void *instance) { free(instance); }

static const sluice_term keys[] = {{"juggle.*", "What it had to say."}};
static const sluice_term codes[] = {{"juggled", "It did what it was told to."}, {"other", "It should not be seen."}};
static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_NETWORK, .key_count = 1, .code_count = 2, .id = "juggle", .version = "1.0.0",
    .summary = "Works on many attachments at once.", .keys = keys, .codes = codes, .open = juggle_open,
    .process = juggle_process, .flush = juggle_flush, .close = juggle_close, .turn = juggle_turn,
};

const sluice_stage *juggle_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &stage;
}
