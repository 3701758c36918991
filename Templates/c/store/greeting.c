/* Stores content below the store under its hash, so that equal content is stored once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/stage.h>

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "folder", .fallback = "objects",
     .help = "The folder below the store that objects lie in."},
};
static const sluice_term keys[] = {{"greeting.path", "Where the object lies below the store."}};
static const sluice_term codes[] = {
    {"store-unwritable", "The system cannot write to the store."},
    {"source-changed", "The content was changed while it was copied."},
    {"unreadable", "The system cannot read the content."},
    {"path-too-long", "The path is too long."},
};

typedef struct state {
  const sluice_host *host; /* lives as long as the instance */
  int store;               /* so does this */
  char template[];
} state;

static sluice_verdict fault(const state *self, sluice_call *call, const char *code, const char *doing) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s: %s", doing, strerror(errno));
  self->host->explain(call, code, sentence);
  return SLUICE_RETRY;
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  const char *folder = "objects";
  for (uint32_t i = 0; i < opening->value_count; i++)
    if (strcmp(opening->values[i].name, "folder") == 0) folder = opening->values[i].text;
  size_t room = strlen(folder) + sizeof "/{sha256}";
  state *made = malloc(sizeof *made + room);
  if (!made) return SLUICE_FAIL;
  made->host = opening->host;
  made->store = opening->folder;
  snprintf(made->template, room, "%s/{sha256}", folder);
  if (mkdirat(made->store, ".incoming", 0700) != 0 && errno != EEXIST) {
    fault(made, opening->call, "store-unwritable", "making .incoming");
    free(made);
    return SLUICE_FAIL;
  }
  *instance = made;
  return SLUICE_PASS;
}

/* A pass promises that the object is durable: its data and its name. */
static sluice_verdict copy(const state *self, const sluice_attachment *attachment, sluice_call *call) {
  static char buffer[256 << 10];
  char name[512];
  /* A host of 1.0 gives the attempt no name: its structure ends before it. */
  const char *staged =
      attachment->size > offsetof(sluice_attachment, staged_name) ? attachment->staged_name : NULL;
  snprintf(name, sizeof name, ".incoming/%s", staged ? staged : attachment->id);
  unlinkat(self->store, name, 0); /* left by an earlier attempt */
  int object = openat(self->store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (object < 0) return fault(self, call, "store-unwritable", "making an object");
  sluice_verdict verdict = SLUICE_PASS;
  uint64_t offset = 0;
  while (verdict == SLUICE_PASS) {
    ssize_t count = pread(attachment->content, buffer, sizeof buffer, (off_t)offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) verdict = fault(self, call, "unreadable", "reading the content");
    if (count <= 0) break;
    if (write(object, buffer, (size_t)count) != count) verdict = fault(self, call, "store-unwritable", "writing an object");
    offset += (uint64_t)count;
  }
  struct stat facts;
  if (verdict == SLUICE_PASS &&
      (fstat(attachment->content, &facts) != 0 || offset != attachment->content_size ||
       facts.st_mtim.tv_sec * 1000000000LL + facts.st_mtim.tv_nsec != attachment->modified ||
       facts.st_ctim.tv_sec * 1000000000LL + facts.st_ctim.tv_nsec != attachment->changed)) {
    self->host->explain(call, "source-changed", "the file was changed while it was read");
    verdict = SLUICE_RETRY;
  }
  if (verdict == SLUICE_PASS && fsync(object) != 0) verdict = fault(self, call, "store-unwritable", "syncing an object");
  close(object);
  if (verdict != SLUICE_PASS) return verdict;
  int incoming = openat(self->store, ".incoming", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (incoming < 0 || fsync(incoming) != 0) verdict = fault(self, call, "store-unwritable", "syncing .incoming");
  if (incoming >= 0) close(incoming);
  return verdict;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const state *self = instance;
  /* `expand` never yields a path outside the store, whatever the option says. */
  const char *path = self->host->expand(call, self->template);
  if (!path) {
    self->host->explain(call, "path-too-long", "the path is longer than 1,024 bytes, or no template");
    return SLUICE_FAIL;
  }
  /* The host moves the object to its path once the ledger has recorded the attachment. */
  if (faccessat(self->store, path, F_OK, 0) != 0) {
    sluice_verdict verdict = copy(self, attachment, call);
    if (verdict != SLUICE_PASS) return verdict;
  }
  self->host->set_location(call, path);
  self->host->annotate_text(call, "greeting.path", path);
  return SLUICE_PASS;
}

static void close_stage(void *instance) { free(instance); }

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_STORE,
    .id = "greeting",
    .version = "0.1.0",
    .summary = "Keeps content below the store under its hash.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .codes = codes,
    .code_count = sizeof codes / sizeof *codes,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

__attribute__((visibility("default"))) const sluice_stage *greeting_stage(uint32_t host_abi_major) {
  (void)host_abi_major; /* the host compares with `abi_major` */
  return &stage;
}
