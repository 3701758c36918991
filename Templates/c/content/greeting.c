/* Admits content that begins with a word. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sluice/stage.h>

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "word", .fallback = "hello",
     .help = "The word that content begins with."},
};
static const sluice_term keys[] = {{"greeting.word", "The word it begins with."}};
static const sluice_term codes[] = {
    {"wrong-word", "It begins with something else."},
    {"unreadable", "The system cannot read the content."},
};

typedef struct state {
  const sluice_host *host; /* lives as long as the instance */
  char word[];             /* what the opening holds does not */
} state;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  const char *word = "hello";
  for (uint32_t i = 0; i < opening->value_count; i++)
    if (strcmp(opening->values[i].name, "word") == 0) word = opening->values[i].text;
  if (!*word) {
    opening->host->explain(opening->call, "wrong-word", "option 'word' is empty; give it a word");
    return SLUICE_FAIL;
  }
  state *made = malloc(sizeof *made + strlen(word) + 1);
  if (!made) return SLUICE_FAIL;
  made->host = opening->host;
  strcpy(made->word, word);
  *instance = made;
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const state *self = instance;
  size_t length = strlen(self->word), count = 0;
  char start[4096], sentence[512];
  if (length > sizeof start) length = sizeof start;
  while (count < length) {
    ssize_t read = pread(attachment->content, start + count, length - count, (off_t)count);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) {
      self->host->explain(call, "unreadable", strerror(errno));
      return SLUICE_RETRY;
    }
    if (read == 0) break;
    count += (size_t)read;
  }
  if (count < length || memcmp(start, self->word, length) != 0) {
    snprintf(sentence, sizeof sentence, "the content does not begin with '%s'", self->word);
    self->host->explain(call, "wrong-word", sentence);
    return SLUICE_REJECT;
  }
  self->host->annotate_text(call, "greeting.word", self->word);
  return SLUICE_PASS;
}

static void close_stage(void *instance) { free(instance); }

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT,
    .id = "greeting",
    .version = "0.1.0",
    .summary = "Admits content that begins with a word.",
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
