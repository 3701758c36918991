/* A stage that tries to escape from its worker, in the way its content names. Each included file has the ways
 * of one kind; escape-store.c and escape-network.c are the same stage with another capability. */
#include "escape-files.h"
#include "escape-kernel.h"
#include "escape-processes.h"
#include "escape-sockets.h"

#ifndef ESCAPE_ID
#define ESCAPE_ID "escape"
#define ESCAPE_CAPABILITY SLUICE_CONTENT
#define ESCAPE_FUNCTION escape_stage
#endif

static const struct {
  const struct act *acts;
  size_t count;
} kinds[] = {
    {file_acts, sizeof file_acts / sizeof *file_acts},
    {process_acts, sizeof process_acts / sizeof *process_acts},
    {kernel_acts, sizeof kernel_acts / sizeof *kernel_acts},
    {socket_acts, sizeof socket_acts / sizeof *socket_acts},
};

static const sluice_host *host;
static pid_t parent;

static sluice_verdict escape_open(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  (void)instance;
  host = opening->host;
  parent = getppid(); /* prepared now, so that later restrictions do not hide the result of the attack */
  return SLUICE_PASS;
}

/* Fills in the scene from lines of a word and its value. */
static void set(struct scene *scene, char *line) {
  char *value = strchr(line, ' ');
  if (!value) return;
  *value++ = 0;
  const struct {
    const char *word;
    char *room;
    size_t size;
  } texts[] = {{"act", scene->act, sizeof scene->act}, {"world", scene->world, sizeof scene->world},
               {"store", scene->store, sizeof scene->store}, {"abstract", scene->abstract, sizeof scene->abstract}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(line, texts[i].word) == 0) snprintf(texts[i].room, texts[i].size, "%s", value);
  if (strcmp(line, "tcp") == 0) scene->tcp = atoi(value);
  if (strcmp(line, "udp") == 0) scene->udp = atoi(value);
  if (strcmp(line, "canary") == 0) scene->canary = atoi(value);
  if (strcmp(line, "signal") == 0) scene->signal = atoi(value);
  if (strcmp(line, "buffer") == 0) scene->buffer = (char *)(uintptr_t)strtoull(value, NULL, 10);
}

static sluice_verdict escape_process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  struct scene scene = {.host = host, .call = call, .content = attachment->content, .parent = parent,
                        .has_folder = ESCAPE_CAPABILITY == SLUICE_STORE};
  char text[2048] = {0}, *rest = text;
  if (pread(attachment->content, text, sizeof text - 1, 0) <= 0) return unclear(&scene, "no content");
  for (char *line; (line = strtok_r(rest, "\n", &rest));) set(&scene, line);
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    for (size_t i = 0; i < kinds[kind].count; i++)
      if (strcmp(kinds[kind].acts[i].name, scene.act) == 0) return kinds[kind].acts[i].function(&scene);
  return unclear(&scene, "there is no such act");
}

static void escape_close(void *instance) { (void)instance; }

static const sluice_term codes[] = {
    {"achieved", "It got out."}, {"refused", "It was told no."}, {"unclear", "What it tried did not come so far."}};
static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = ESCAPE_CAPABILITY, .code_count = 3, .id = ESCAPE_ID, .version = "1.0.0",
    .summary = "Tries to get out of its worker.", .codes = codes, .open = escape_open, .process = escape_process,
    .close = escape_close,
};

const sluice_stage *ESCAPE_FUNCTION(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &stage;
}
