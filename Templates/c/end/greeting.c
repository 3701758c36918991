/* Tells the sender of an attachment that is not completed, unless its code is one that is kept quiet. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <sluice/stage.h>

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_CHANNEL_NAME, .shapes = SLUICE_ONE, .name = "channel",
     .help = "The channel to tell the sender on; without it nothing is told."},
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE | SLUICE_LIST, .name = "quiet",
     .help = "Codes of which the sender is not told."},
};
static const sluice_term keys[] = {{"greeting.told", "Whether the sender is told."}};

typedef struct state {
  const sluice_host *host; /* lives as long as the instance */
  char *channel;           /* what the opening holds does not, so that it is copied */
  char **quiet;
  size_t quiet_count;
} state;

static void close_stage(void *instance) {
  state *self = instance;
  for (size_t i = 0; i < self->quiet_count; i++) free(self->quiet[i]);
  free(self->quiet);
  free(self->channel);
  free(self);
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  state *made = calloc(1, sizeof *made);
  if (made) made->quiet = calloc(opening->value_count + 1, sizeof *made->quiet);
  if (!made || !made->quiet) {
    free(made);
    return SLUICE_FAIL;
  }
  made->host = opening->host;
  /* A list comes as several values of one name. */
  for (uint32_t i = 0; i < opening->value_count; i++) {
    char *text = strdup(opening->values[i].text);
    if (strcmp(opening->values[i].name, "channel") == 0)
      made->channel = text;
    else if (strcmp(opening->values[i].name, "quiet") == 0)
      made->quiet[made->quiet_count++] = text;
    else
      free(text);
  }
  *instance = made;
  return SLUICE_PASS;
}

static int is_quiet(const state *self, const char *code) {
  for (size_t i = 0; i < self->quiet_count; i++)
    if (strcmp(self->quiet[i], code) == 0) return 1;
  return 0;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const state *self = instance;
  int is_told = attachment->outcome != SLUICE_COMPLETED && self->channel &&
                !is_quiet(self, attachment->reason_code ? attachment->reason_code : "");
  self->host->annotate_boolean(call, "greeting.told", is_told);
  /* The host writes the event with the reason in it, and records it together with the outcome. */
  if (is_told) self->host->emit(call, "greeting.refused", self->channel, SLUICE_TO_SENDER);
  return SLUICE_PASS;
}

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT,
    .flags = SLUICE_AT_END,
    .id = "greeting",
    .version = "0.1.0",
    .summary = "Tells the sender what is not completed.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

__attribute__((visibility("default"))) const sluice_stage *greeting_stage(uint32_t host_abi_major) {
  (void)host_abi_major; /* the host compares with `abi_major` */
  return &stage;
}
