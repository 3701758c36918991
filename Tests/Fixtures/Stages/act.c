/* A stage that acts by its option `plan`, which gives an act for the first letter of the file's name: `a=r
 * b=e` rejects files that begin with a, and emits an event for files that begin with b. r, f, t: reject,
 * fail, retry; c: crashes its worker; e, x: emits, and passes or rejects; m: reports an image; n: annotates.
 * act-end.c makes it a stage at the end. */
#include <sluice/stage.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ACT_END
#define ID "act-end"
#define FLAGS SLUICE_AT_END
#define FUNCTION act_end_stage
#else
#define ID "act"
#define FLAGS 0
#define FUNCTION act_stage
#endif

static const sluice_host *host;

typedef struct {
  char plan[256], channel[64], type[64];
} instance_data;

static void take(const sluice_opening *opening, const char *name, char *text, size_t size) {
  for (size_t i = 0; i < opening->value_count; i++)
    if (strcmp(opening->values[i].name, name) == 0) snprintf(text, size, "%s", opening->values[i].text);
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  instance_data *own = calloc(1, sizeof *own);
  if (!own) return SLUICE_RETRY;
  take(opening, "plan", own->plan, sizeof own->plan);
  take(opening, "channel", own->channel, sizeof own->channel);
  take(opening, "type", own->type, sizeof own->type);
  *instance = own;
  return SLUICE_PASS;
}

static char act_for(const instance_data *own, const char *name) {
  for (const char *at = own->plan; *at; at++)
    if (at[0] == name[0] && at[1] == '=') return at[2];
  return 'p';
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const instance_data *own = instance;
  const char act = act_for(own, attachment->file_name);
  if ((act == 'e' || act == 'x') && own->channel[0]) host->emit(call, own->type, own->channel, SLUICE_TO_EVERYONE);
  switch (act) {
    case 'r':
    case 'x': host->explain(call, "said-no", "the plan says so"); return SLUICE_REJECT;
    case 'f': host->explain(call, "failing", "the plan says so"); return SLUICE_FAIL;
    case 't': host->explain(call, "not-now", "the plan says so"); return SLUICE_RETRY;
    case 'c': abort();
    case 'm': host->set_media_type(call, "image/png"); return SLUICE_PASS;
    case 'n': host->annotate_integer(call, own->type, 1); return SLUICE_PASS;
    default: return SLUICE_PASS;
  }
}

static void close_stage(void *instance) { free(instance); }

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "plan", .help = "What it does."},
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "type", .help = "What it emits."},
    {.size = sizeof(sluice_option), .type = SLUICE_CHANNEL_NAME, .shapes = SLUICE_ONE, .name = "channel", .help = "Where."},
};
static const sluice_term codes[] = {{"said-no", "No."}, {"failing", "It fails."}, {"not-now", "Later."}};
static const sluice_term keys[] = {{"act.*", "What it was told to find."}};

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .flags = FLAGS,
    .option_count = 3, .key_count = 1, .code_count = 3, .id = ID, .version = "1.0.0", .summary = "Acts by a plan.",
    .options = options, .keys = keys, .codes = codes, .open = open_stage, .process = process, .close = close_stage};

const sluice_stage *FUNCTION(uint32_t host_major);
const sluice_stage *FUNCTION(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
