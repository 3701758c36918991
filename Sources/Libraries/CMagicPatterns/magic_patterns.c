#include "magic_patterns.h"

#include <imports.h>
#include <magic.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is known of the patterns that libmagic has compiled, by their addresses. */
typedef struct pattern {
  struct pattern *next;
  const regex_t *compiled;
  sluice_words words;
} pattern;

static pattern *patterns[256];

static pattern **place(const regex_t *compiled) {
  pattern **place = &patterns[((uintptr_t)compiled >> 4) & 255];
  while (*place && (*place)->compiled != compiled) place = &(*place)->next;
  return place;
}

static void forget(const regex_t *compiled) {
  pattern **known = place(compiled);
  if (!*known) return;
  pattern *gone = *known;
  *known = gone->next;
  free(gone);
}

static int compile(regex_t *compiled, const char *text, int flags) {
  forget(compiled);
  const int failure = regcomp(compiled, text, flags);
  if (failure || !(flags & REG_EXTENDED) || (flags & REG_ICASE)) return failure;
  const sluice_words words = sluice_pattern_words(text);
  pattern *known = words.count ? malloc(sizeof *known) : NULL;
  if (known) {
    pattern **where = place(compiled);
    *known = (pattern){.next = *where, .compiled = compiled, .words = words};
    *where = known;
  }
  return 0;
}

static int execute(const regex_t *compiled, const char *text, size_t count, regmatch_t *matches, int flags) {
  const pattern *known = *place(compiled);
  if (known) {
    const size_t start = flags & REG_STARTEND ? (size_t)matches[0].rm_so : 0;
    const size_t end = flags & REG_STARTEND ? (size_t)matches[0].rm_eo : strlen(text);
    if (start <= end && !sluice_words_allow(&known->words, text + start, end - start)) return REG_NOMATCH;
  }
  return regexec(compiled, text, count, matches, flags);
}

static void release(regex_t *compiled) {
  forget(compiled);
  regfree(compiled);
}

bool sluice_magic_patterns(void) {
  const void *magic = (const void *)&magic_open;
  sluice_import make = {magic, "regcomp", NULL, false}, run = {magic, "regexec", NULL, false};
  sluice_import end = {magic, "regfree", NULL, false};
  if (!sluice_import_find(&make) || !sluice_import_find(&run) || !sluice_import_find(&end)) return false;
  /* Each alone changes nothing: what is not known is done as before. */
  return sluice_import_replace(&end, (void *)release) && sluice_import_replace(&run, (void *)execute) &&
         sluice_import_replace(&make, (void *)compile);
}
