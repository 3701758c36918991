#include "filter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An entry of a compiled database of version 18 (`struct magic` in the file.h of libmagic 5.44). In the place of the first is
 * the header: the number below, the version, and how many entries each of two sets has. */
typedef struct entry {
  uint16_t level; /* 0: a test of its own; above: one that is made where the last of the level before was passed */
  uint8_t flag, factor, relation, size, type, in_type, in_op, mask_op, condition, factor_op;
  int32_t offset, in_offset;
  uint32_t line, range, flags;
  char value[128], description[64], media_type[80], apple[8], extensions[64];
} entry;

static const uint32_t database_number = 0xF11E041C, database_version = 18;
enum { type_regex = 17, type_search = 20 };
enum { flag_moves = 0x07 };
enum { compact_whitespace = 0x01, compact_optional_whitespace = 0x02, ignore_lower = 0x04, ignore_upper = 0x08 };

/* The words of an entry, of which each match has one. */
typedef struct needs {
  sluice_words words;
  size_t end; /* behind the last byte of a content at which one may begin */
} needs;

/* What a search has in each place where it matches: the word, or a part of it without white space where there may be more of
 * that in the content. */
static sluice_words search_words(const entry *entry, bool is_compact) {
  sluice_words words = {.count = 0};
  for (int from = 0, to = 0; from < entry->size; from = to + 1) {
    for (to = from; to < entry->size && !(is_compact && sluice_is_space(entry->value[to]));) to++;
    sluice_words part = {.count = 1};
    const size_t size = (size_t)(to - from), most = sizeof part.all[0].bytes;
    part.all[0].size = (unsigned char)(size < most ? size : most);
    memcpy(part.all[0].bytes, entry->value + from, part.all[0].size);
    if (size) sluice_words_prefer(&words, &part);
  }
  return words;
}

/* Letters of another encoding may be other bytes when libmagic looks for them; short words are sought as they are. */
static bool are_needles(const sluice_words *words, bool ignores_case) {
  for (int i = 0; i < words->count; i++) {
    const sluice_word *word = &words->all[i];
    if (!word->size || (word->size < hashed && (ignores_case || (words->begin_lines && sluice_is_space(word->bytes[0])))))
      return false;
    for (int k = 0; k < word->size; k++)
      if (word->bytes[k] & 0x80) return false;
  }
  return words->count > 0;
}

/* Without words where the beginning of a content cannot say that the entry does not match. */
static needs needs_of(const entry *entry, size_t longest_match) {
  needs needs = {.words.count = 0};
  if (entry->flag & flag_moves || entry->offset < 0 || entry->relation != '=' || entry->size >= sizeof entry->value)
    return needs;
  size_t range = entry->range;
  bool is_compact = false;
  if (entry->type == type_regex && memchr(entry->value, 0, sizeof entry->value)) {
    needs.words = sluice_pattern_words(entry->value);
    needs.words.begin_lines &= entry->offset == 0;
    range = longest_match;
  } else if (entry->type == type_search && range != 1) {
    is_compact = entry->flags & (compact_whitespace | compact_optional_whitespace);
    needs.words = search_words(entry, is_compact);
  }
  /* White space in the content may be as long as it likes. */
  needs.end = range && !is_compact ? (size_t)entry->offset + range + sizeof entry->value + mark : SIZE_MAX;
  if (!are_needles(&needs.words, entry->flags & (ignore_lower | ignore_upper))) needs.words.count = 0;
  return needs;
}

static bool says_something(const entry *entry) {
  return entry->description[0] || entry->media_type[0] || entry->apple[0] || entry->extensions[0];
}

/* What one of the tests that follow from a test needs. */
static needs needs_of_next(const entry *test, const entry *behind, size_t longest_match) {
  const needs none = {.words.count = 0};
  needs all = none;
  for (const entry *next = test + 1; next < behind && next->level; next++) {
    if (next->level != 1) continue;
    const needs its = needs_of(next, longest_match);
    if (!its.words.count || all.words.count + its.words.count > (int)(sizeof all.words.all / sizeof *all.words.all))
      return none;
    all.words.begin_lines = its.words.begin_lines && (all.words.begin_lines || !all.words.count);
    memcpy(all.words.all + all.words.count, its.words.all, (size_t)its.words.count * sizeof *its.words.all);
    all.words.count += its.words.count;
    if (its.end > all.end) all.end = its.end;
  }
  return all;
}

static void add(sluice_magic_filter *filter, const needs *needs, uint8_t set) {
  sluice_test *test = &filter->tests[filter->test_count];
  if (needs->words.count) test->needed |= set;
  for (int i = 0; i < needs->words.count; i++) {
    sluice_needle *needle = &filter->needles[filter->needle_count];
    const sluice_word *word = &needs->words.all[i];
    *needle = (sluice_needle){.test = (uint16_t)filter->test_count, .set = set, .begins_line = needs->words.begin_lines};
    /* What is tested for binary types is tested inside of containers, too. */
    const bool is_near = !(test->switches & flag_binary) && needs->end < sluice_magic_filter_reach;
    needle->end = is_near ? (uint32_t)needs->end : sluice_magic_filter_reach;
    needle->word.size = word->size;
    for (int k = 0; k < word->size; k++)
      needle->word.bytes[k] = word->size < hashed ? word->bytes[k] : sluice_lower(word->bytes[k]);
    unsigned short *first = &filter->first[word->size < hashed ? hashes : sluice_hash(sluice_three_bytes(word->bytes))];
    needle->next = *first;
    *first = (unsigned short)++filter->needle_count;
  }
}

/* Only counts, where the filter has no room yet. */
static void add_test(sluice_magic_filter *filter, entry *test, const entry *behind, size_t longest_match) {
  if (test->level || !(test->flag & flag_text)) return;
  const needs own = needs_of(test, longest_match);
  if (!own.words.count) return;
  /* One that says nothing itself only matters where one that follows is passed, too. */
  needs next = {.words.count = 0};
  if (!says_something(test)) next = needs_of_next(test, behind, longest_match);
  if (filter->tests) {
    filter->tests[filter->test_count] =
        (sluice_test){.flag = &test->flag, .switches = test->flag & (flag_text | flag_binary)};
    add(filter, &own, set_own);
    add(filter, &next, set_next);
  } else
    filter->needle_count += own.words.count + next.words.count;
  filter->test_count++;
}

static bool is_known(const entry *entries, size_t size) {
  uint32_t header[4];
  if (size < sizeof *entries || size % sizeof *entries) return false;
  memcpy(header, entries, sizeof header);
  return header[0] == database_number && header[1] == database_version &&
         1 + (size_t)header[2] + header[3] == size / sizeof *entries;
}

static entry *map(const char *path, size_t *size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat facts;
  if (file < 0) return NULL;
  entry *entries = MAP_FAILED;
  if (fstat(file, &facts) == 0 && facts.st_size > 0) {
    *size = (size_t)facts.st_size;
    entries = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  }
  close(file);
  return entries == MAP_FAILED ? NULL : entries;
}

static bool make_room(sluice_magic_filter *filter) {
  if (!filter->test_count || filter->needle_count >= UINT16_MAX) return false;
  filter->tests = calloc((size_t)filter->test_count, sizeof *filter->tests);
  filter->needles = calloc((size_t)filter->needle_count, sizeof *filter->needles);
  filter->first = calloc(hashes + 1, sizeof *filter->first);
  filter->text = malloc(sluice_magic_filter_reach);
  filter->test_count = filter->needle_count = 0;
  return filter->tests && filter->needles && filter->first && filter->text;
}

bool sluice_magic_filter_open(sluice_magic_filter *filter, const char *path, size_t longest_match) {
  *filter = (sluice_magic_filter){.database = NULL};
  entry *entries = map(path, &filter->size);
  filter->database = entries;
  if (!entries) return false;
  entry *behind = entries + filter->size / sizeof *entries;
  if (is_known(entries, filter->size)) {
    for (entry *one = entries + 1; one < behind; one++) add_test(filter, one, behind, longest_match);
    if (make_room(filter)) {
      for (entry *one = entries + 1; one < behind; one++) add_test(filter, one, behind, longest_match);
      return true;
    }
  }
  sluice_magic_filter_close(filter);
  return false;
}

void sluice_magic_filter_close(sluice_magic_filter *filter) {
  if (filter->database) munmap(filter->database, filter->size);
  free(filter->tests);
  free(filter->needles);
  free(filter->first);
  free(filter->text);
  *filter = (sluice_magic_filter){.database = NULL};
}
