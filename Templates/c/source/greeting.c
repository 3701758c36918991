/* Fetches links that it answers itself: https://lines.example/1000 has a thousand lines. A source for a service has connections,
 * which `turn` waits for, and reads from them where this one makes its lines. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sluice/stage.h>

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "word", .fallback = "hello",
     .help = "The word that each line begins with."},
    {.size = sizeof(sluice_option), .type = SLUICE_BYTES, .shapes = SLUICE_ONE, .name = "rate", .fallback = "64MB",
     .help = "Bytes that a transfer gets in a second.", .minimum = 1024, .maximum = 1 << 30},
};
static const sluice_term codes[] = {
    {"unknown-link", "The link is none of this source's."},
    {"too-large", "The content has more bytes than are allowed."},
    {"unwritable", "The system cannot write or sync the file."},
    {"stopped", "The transfer cannot go on now; what came is kept."},
};

#define PLACE "https://lines.example/"
enum { PIECE = 64 << 10, SYNC_BYTES = 8 << 20, SYNC_TIME = 2000, TELL_TIME = 250 };

typedef struct transfer {
  struct transfer *next;
  const sluice_transfer *given; /* lives until it is settled */
  sluice_call *call;
  uint64_t at, size, synced, from;   /* bytes; `from`: where it began, or went on */
  int64_t synced_at, told_at, began; /* milliseconds, as `now` counts them */
  int is_held;
} transfer;

typedef struct state {
  const sluice_host *host; /* lives as long as the instance */
  transfer *first;
  int64_t rate;
  size_t width; /* of a line */
  char *line;
  char tag[40]; /* proves that two pieces belong together, as a server's ETag does */
  char word[];
} state;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  const char *word = "hello";
  int64_t rate = 64 << 20;
  for (uint32_t i = 0; i < opening->value_count; i++) {
    const sluice_value *value = &opening->values[i];
    if (strcmp(value->name, "word") == 0) word = value->text;
    if (strcmp(value->name, "rate") == 0) rate = value->integer;
  }
  if (!*word) {
    opening->host->explain(opening->call, "unknown-link", "option 'word' is empty; give it a word");
    return SLUICE_FAIL;
  }
  size_t length = strlen(word);
  state *made = calloc(1, sizeof *made + length + 1);
  char *line = malloc(length + 16);
  if (!made || !line) {
    free(made);
    free(line);
    return SLUICE_FAIL;
  }
  made->host = opening->host;
  made->rate = rate;
  made->line = line;
  made->width = length + 14; /* the word, a space, 12 digits, a newline */
  strcpy(made->word, word);
  uint64_t hash = 14695981039346656037u;
  for (const char *letter = word; *letter; letter++) hash = (hash ^ (unsigned char)*letter) * 1099511628211u;
  snprintf(made->tag, sizeof made->tag, "\"%016llx\"", (unsigned long long)hash);
  *instance = made;
  return SLUICE_PASS;
}

/* The lines of a link; 0: it is none. A link may hold a secret, so that no sentence quotes it. */
static uint64_t lines(const char *url) {
  if (strncmp(url, PLACE, strlen(PLACE)) != 0) return 0;
  const char *digits = url + strlen(PLACE);
  size_t count = strspn(digits, "0123456789");
  if (count < 1 || count > 12 || digits[count]) return 0;
  return strtoull(digits, NULL, 10);
}

/* Ends a transfer. It is gone then. */
static void settle(state *self, transfer *one, sluice_verdict verdict, const char *code, const char *sentence) {
  transfer **link = &self->first;
  while (*link != one) link = &(*link)->next;
  *link = one->next;
  if (verdict != SLUICE_PASS) self->host->explain(one->call, code, sentence);
  self->host->settle(one->call, verdict);
  free(one);
}

static void settle_unwritable(state *self, transfer *one, const char *doing) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s: %s", doing, strerror(errno));
  self->host->pause(one->call); /* the disk's fault, not the transfer's */
  settle(self, one, SLUICE_RETRY, "unwritable", sentence);
}

/* Tells how far it is, once that is on disk: from there the next attempt goes on. 0, or -1 and errno. */
static int save(state *self, transfer *one) {
  if (fdatasync(one->given->content) != 0) return -1;
  sluice_checkpoint checkpoint = {.size = sizeof checkpoint, .bytes = one->at, .total = one->size, .etag = self->tag};
  self->host->checkpoint(one->call, &checkpoint);
  one->synced = one->at;
  one->synced_at = now();
  return 0;
}

static void start(void *instance, const sluice_transfer *given, sluice_call *call) {
  state *self = instance;
  uint64_t count = lines(given->url);
  transfer *one = calloc(1, sizeof *one);
  if (!one) {
    self->host->explain(call, "stopped", "there is no memory for one more transfer");
    self->host->settle(call, SLUICE_RETRY);
    return;
  }
  *one = (transfer){.next = self->first, .given = given, .call = call, .size = count * self->width};
  self->first = one;
  if (count == 0) {
    settle(self, one, SLUICE_FAIL, "unknown-link", "the link is not " PLACE "LINES");
    return;
  }
  /* Where the size is not known beforehand, compare before each write: the kernel ends the worker of a source that goes on. */
  if (one->size > given->limit) {
    settle(self, one, SLUICE_REJECT, "too-large", "the content has more bytes than are allowed");
    return;
  }
  /* What is there counts if it belongs to the same content. What lies behind it never does. */
  if (given->etag && strcmp(given->etag, self->tag) == 0 && given->bytes <= one->size) one->at = given->bytes;
  one->synced = one->from = one->at;
  one->began = one->synced_at = now();
}

/* When its next piece may come. */
static int64_t due(const state *self, const transfer *one) {
  return one->began + (int64_t)(one->at - one->from) / (self->rate / 1000);
}

/* Writes the next piece. 1: it goes on; 0: it was settled. */
static int advance(state *self, transfer *one) {
  char piece[PIECE];
  size_t count = 0;
  while (count < sizeof piece && one->at + count < one->size) {
    uint64_t place = one->at + count;
    size_t column = place % self->width, rest = self->width - column;
    snprintf(self->line, self->width + 1, "%s %012llu\n", self->word, (unsigned long long)(place / self->width + 1));
    if (rest > sizeof piece - count) rest = sizeof piece - count;
    memcpy(piece + count, self->line + column, rest);
    count += rest;
  }
  for (size_t done = 0; done < count;) {
    ssize_t written = pwrite(one->given->content, piece + done, count - done, (off_t)(one->at + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      settle_unwritable(self, one, "writing the file");
      return 0;
    }
    done += (size_t)written;
  }
  one->at += count;
  int64_t time = now();
  int is_complete = one->at == one->size;
  /* A pass says that nothing lies behind the content, and that all of it is on disk. */
  if (is_complete && ftruncate(one->given->content, (off_t)one->size) != 0) {
    settle_unwritable(self, one, "cutting the file");
    return 0;
  }
  if (is_complete || one->at - one->synced >= SYNC_BYTES || time - one->synced_at >= SYNC_TIME) {
    if (save(self, one) != 0) {
      settle_unwritable(self, one, "syncing the file");
      return 0;
    }
  }
  if (is_complete) {
    settle(self, one, SLUICE_PASS, NULL, NULL);
    return 0;
  }
  if (time - one->told_at >= TELL_TIME) {
    self->host->received(one->call, one->at);
    one->told_at = time;
  }
  return 1;
}

static void turn(void *instance, int32_t wake, int64_t milliseconds) {
  state *self = instance;
  int64_t end = now() + milliseconds;
  struct pollfd waiting = {.fd = wake, .events = POLLIN}; /* and the connections, in a source that has some */
  for (;;) {
    int64_t next = end;
    int has_settled = 0;
    for (transfer *one = self->first, *following; one; one = following) {
      following = one->next;
      if (one->is_held) continue;
      if (due(self, one) <= now() && !advance(self, one)) has_settled = 1;
      else if (due(self, one) < next) next = due(self, one);
    }
    int64_t left = has_settled ? 0 : next - now();
    if (poll(&waiting, 1, left > 0 ? (int)left : 0) != 0 || has_settled || now() >= end) return;
  }
}

static transfer *find(const state *self, const sluice_call *call) {
  transfer *one = self->first;
  while (one && one->call != call) one = one->next;
  return one;
}

static void hold(void *instance, sluice_call *call, int32_t is_held) {
  transfer *one = find(instance, call);
  if (!one) return;
  one->is_held = is_held;
  one->from = one->at;
  one->began = now();
}

static void stop(void *instance, sluice_call *call) {
  state *self = instance;
  transfer *one = find(self, call);
  if (!one) return;
  if (save(self, one) != 0) settle_unwritable(self, one, "syncing the file");
  else settle(self, one, SLUICE_RETRY, "stopped", "it was told to end; what came is kept");
}

static void close_stage(void *instance) {
  state *self = instance;
  while (self->first) {
    transfer *one = self->first;
    self->first = one->next;
    free(one);
  }
  free(self->line);
  free(self);
}

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_NETWORK,
    .flags = SLUICE_SOURCE,
    .id = "greeting",
    .version = "0.1.0",
    .summary = "Fetches lines that it makes itself.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .codes = codes,
    .code_count = sizeof codes / sizeof *codes,
    .open = open_stage,
    .close = close_stage,
    .start = start,
    .turn = turn,
    .hold = hold,
    .stop = stop,
};

__attribute__((visibility("default"))) const sluice_stage *greeting_stage(uint32_t host_abi_major) {
  (void)host_abi_major; /* the host compares with `abi_major` */
  return &stage;
}
