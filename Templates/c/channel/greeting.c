/* A channel that appends each event to a file of the home, a line each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <sluice/stage.h>

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_FILE, .shapes = SLUICE_ONE, .name = "path",
     .fallback = "greeting.jsonl", .help = "The file that events are appended to, relative to the home."},
};
static const sluice_term codes[] = {
    {"unwritable", "The system cannot write the file."},
    {"unreadable", "The system cannot tell the length of the file."},
};

typedef struct state {
  const sluice_host *host; /* lives as long as the instance */
  int file;
} state;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  const char *path = "greeting.jsonl";
  for (uint32_t i = 0; i < opening->value_count; i++)
    if (strcmp(opening->values[i].name, "path") == 0) path = opening->values[i].text;
  /* The home may be used until `open` returns, and what was opened in it for as long as the channel is open. */
  int file = openat(opening->folder, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    char sentence[1000];
    snprintf(sentence, sizeof sentence, "%s: %s", path, strerror(errno));
    opening->host->explain(opening->call, "unwritable", sentence);
    return SLUICE_FAIL;
  }
  state *made = malloc(sizeof *made);
  if (!made) {
    close(file);
    return SLUICE_FAIL;
  }
  *made = (state){opening->host, file};
  *instance = made;
  return SLUICE_PASS;
}

/* A fault of the place and not of the event: the channel pauses with this reason, and the attempt does not count. */
static sluice_verdict pause_with(const state *self, sluice_call *call, const char *code) {
  self->host->explain(call, code, strerror(errno));
  self->host->pause(call);
  return SLUICE_RETRY;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const state *self = instance;
  const sluice_event *event = attachment->event;
  /* The body is one line of JSON, with the event's id first: who reads the file drops a line that is there twice, as after a
   * crash between the writing and the receipt. */
  struct iovec parts[] = {{(void *)event->body, event->body_length}, {"\n", 1}};
  struct stat before;
  if (fstat(self->file, &before) != 0) return pause_with(self, call, "unreadable");
  ssize_t written = writev(self->file, parts, 2);
  if (written == (ssize_t)event->body_length + 1) return SLUICE_PASS;
  if (written >= 0) errno = ENOSPC;
  int failure = errno;
  if (ftruncate(self->file, before.st_size) != 0) failure = errno; /* no half a line */
  errno = failure;
  return pause_with(self, call, "unwritable");
}

/* A pass counts once this returns: many events are synced at once. */
static sluice_verdict flush(void *instance, sluice_call *call) {
  const state *self = instance;
  return fdatasync(self->file) == 0 ? SLUICE_PASS : pause_with(self, call, "unwritable");
}

static void close_stage(void *instance) {
  state *self = instance;
  close(self->file);
  free(self);
}

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT,
    .flags = SLUICE_CHANNEL,
    .id = "greeting",
    .version = "0.1.0",
    .summary = "Appends each event to a file, a line each.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .codes = codes,
    .code_count = sizeof codes / sizeof *codes,
    .open = open_stage,
    .process = process,
    .flush = flush,
    .close = close_stage,
};

__attribute__((visibility("default"))) const sluice_stage *greeting_stage(uint32_t host_abi_major) {
  (void)host_abi_major; /* the host compares with `abi_major` */
  return &stage;
}
