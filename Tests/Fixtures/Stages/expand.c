/* Takes contents out of a text: each line that begins with `>` is one, with `|` for its line breaks; one that has the word `bad`
 * is rejected, and so is what has no room for its children. */
#include <sluice/stage.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What `|` becomes: another version of it may say otherwise. */
#ifndef LINE_BREAK
#define LINE_BREAK '\n'
#endif

static sluice_verdict start(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  *instance = (void *)(uintptr_t)opening->host;
  return SLUICE_PASS;
}

static int take_out(const sluice_expansion *table, sluice_call *call, const char *line, int number) {
  char name[32], room[4096];
  snprintf(name, sizeof name, "line-%d.txt", number);
  size_t count = strlen(line) < sizeof room ? strlen(line) : sizeof room;
  for (size_t i = 0; i < count; i++) room[i] = line[i] == '|' ? LINE_BREAK : line[i];
  int file = table->begin(call, name, "text/plain");
  return file >= 0 && write(file, room, count) == (ssize_t)count ? 0 : -1;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const sluice_host *host = instance;
  const sluice_expansion *table = host->extension(call, SLUICE_EXTENSION_EXPANSION);
  char *text = calloc(1, attachment->content_size + 1);
  if (!text || !table || read(attachment->content, text, attachment->content_size) < 0) return SLUICE_FAIL;
  int is_bad = strncmp(text, "bad", 3) == 0, number = 0, is_full = 0;
  for (char *line = strtok(text, "\n"); line && !is_full; line = strtok(NULL, "\n"))
    if (line[0] == '>') is_full = take_out(table, call, line + 1, ++number) != 0;
  free(text);
  if (is_full) host->explain(call, "no-room", "more contents are in it than are allowed");
  else if (is_bad) host->explain(call, "unwanted", "it begins with `bad`");
  return is_full || is_bad ? SLUICE_REJECT : SLUICE_PASS;
}

static void end(void *instance) { (void)instance; }

static const sluice_term codes[] = {
  {"unwanted", "It begins with `bad`."}, {"no-room", "More contents are in it than are allowed."}};

static const sluice_stage stage = {
  .size = sizeof stage, .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .capability = SLUICE_CONTENT,
  .flags = SLUICE_EXPANDS, .code_count = 2, .id = "expand", .version = "1.0.0",
  .summary = "Takes lines out of a text.", .codes = codes, .open = start, .process = process, .close = end};

const sluice_stage *expand_stage(uint32_t major) { (void)major; return &stage; }
