#define _GNU_SOURCE
#include "magic_filter.h"

#include <ctype.h>
#include <string.h>

/* A pattern that is being read. What is not understood is `odd`: nothing is said of its words then. */
typedef struct reader {
  const char *at;
  int depth;
  bool odd;
} reader;

enum { most_words = 8, longest = 31, deepest = 50 };

/* The longer, the rarer; and at the beginning of a line more so. */
static int rarity(const sluice_words *words) {
  int shortest = longest + 1;
  for (int i = 0; i < words->count; i++)
    if (words->all[i].size < shortest) shortest = words->all[i].size;
  if (!words->count) return 0;
  return words->begin_lines ? shortest + 4 : shortest;
}

void sluice_words_prefer(sluice_words *best, const sluice_words *other) {
  const int mine = rarity(best), its = rarity(other);
  if (its > mine || (its == mine && its && other->count < best->count)) *best = *other;
}

/* Bytes that follow each other. Of a long run the beginning does. */
typedef struct run {
  bool begins_line;
  int size;
  char bytes[longest];
} run;

static void append(run *run, char byte, bool begins_line) {
  if (!run->size) run->begins_line = begins_line;
  if (run->size < longest) run->bytes[run->size++] = byte;
}

static void end(run *run, sluice_words *best) {
  if (run->size) {
    sluice_words words = {.count = 1, .begin_lines = run->begins_line};
    words.all[0].size = (unsigned char)run->size;
    memcpy(words.all[0].bytes, run->bytes, (size_t)run->size);
    sluice_words_prefer(best, &words);
  }
  run->size = 0;
}

static int number(reader *reader) {
  int number = 0;
  while (isdigit((unsigned char)*reader->at) && number < 10000) number = number * 10 + (*reader->at++ - '0');
  return number;
}

/* How often what is before must be there, at least: 0 or 1. True: something says that. */
static bool repetition(reader *reader, bool *is_needed) {
  bool found = false;
  for (;; found = true) {
    switch (*reader->at) {
    case '*': case '?': *is_needed = false; reader->at++; continue;
    case '+': reader->at++; continue;
    case '{':
      reader->at++;
      if (number(reader) == 0) *is_needed = false;
      if (*reader->at == ',') {
        reader->at++;
        number(reader);
      }
      if (*reader->at++ != '}') {
        reader->odd = true;
        return found;
      }
      continue;
    default: return found;
    }
  }
}

/* Behind its `[`. True: nothing but white space is in it. */
static bool skip_set(reader *reader) {
  const char *at = reader->at;
  bool is_space = true;
  if (*at == '^' || *at == ']') is_space = false;
  if (*at == '^') at++;
  if (*at == ']') at++;
  while (*at && *at != ']') {
    if (strncmp(at, "[:space:]", 9) != 0 && strncmp(at, "[:blank:]", 9) != 0 && !isspace((unsigned char)*at))
      is_space = false;
    if (*at == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=')) {
      const char close[] = {at[1], ']', 0};
      at = strstr(at + 2, close);
      if (!at) break;
      at += 2;
    } else
      at++;
  }
  reader->odd |= !at || *at != ']';
  if (!reader->odd) reader->at = at + 1;
  return is_space;
}

static sluice_words alternatives(reader *reader, bool begins_line);

/* `begins_line`: nothing is before it in its line, or white space. */
static sluice_words branch(reader *reader, bool begins_line) {
  sluice_words best = {.count = 0};
  run run = {.size = 0};
  while (!reader->odd && *reader->at && *reader->at != '|' && *reader->at != ')') {
    char byte = *reader->at++;
    bool is_byte = false, is_needed = true, is_space = false, is_begin = false;
    sluice_words group = {.count = 0};
    switch (byte) {
    case '^': is_begin = true; break;
    case '$': case '.': break;
    case '[': is_space = skip_set(reader); break;
    case '*': case '+': case '?': case '{': reader->odd = true; break;
    case '(':
      reader->odd |= ++reader->depth > deepest;
      if (reader->odd) break;
      group = alternatives(reader, begins_line);
      reader->depth--;
      if (*reader->at == ')') reader->at++;
      else reader->odd = true;
      break;
    case '\\':
      byte = *reader->at;
      if (byte) reader->at++;
      else reader->odd = true;
      /* The others are classes, places and references of GNU's, or undefined. */
      is_byte = ispunct((unsigned char)byte) && !strchr("<>`'", byte);
      break;
    default: is_byte = true;
    }
    if (reader->odd) break;
    const bool is_repeated = repetition(reader, &is_needed);
    if (is_byte && is_needed) append(&run, byte, begins_line);
    if (!is_byte || is_repeated) end(&run, &best);
    if (is_needed) sluice_words_prefer(&best, &group);
    begins_line = (is_begin && is_needed) || (begins_line && (is_space || is_begin));
  }
  end(&run, &best);
  return best;
}

static sluice_words alternatives(reader *reader, bool begins_line) {
  sluice_words all = branch(reader, begins_line);
  while (!reader->odd && *reader->at == '|') {
    reader->at++;
    const sluice_words other = branch(reader, begins_line);
    if (!all.count || !other.count || all.count + other.count > most_words) {
      all.count = 0;
    } else {
      memcpy(all.all + all.count, other.all, (size_t)other.count * sizeof *other.all);
      all.count += other.count;
      all.begin_lines &= other.begin_lines;
    }
  }
  return all;
}

sluice_words sluice_pattern_words(const char *pattern) {
  reader reader = {.at = pattern};
  sluice_words words = alternatives(&reader, false);
  if (reader.odd || *reader.at) words.count = 0;
  return words;
}
