#define _GNU_SOURCE
#include "magic_patterns.h"

#include <ctype.h>
#include <string.h>

/* A pattern that is being read. What is not understood is `odd`: nothing is said of its words then. */
typedef struct reader {
  const char *at;
  int depth;
  bool odd;
} reader;

enum { most_words = 8, longest = 31, deepest = 50 };

static int shortest_of(const sluice_words *words) {
  int shortest = longest + 1;
  for (int i = 0; i < words->count; i++)
    if (words->all[i].size < shortest) shortest = words->all[i].size;
  return words->count ? shortest : 0;
}

/* Of two sets of words that a match has one of each of, the one that is rarer. */
static void prefer(sluice_words *best, const sluice_words *other) {
  const int mine = shortest_of(best), its = shortest_of(other);
  if (its > mine || (its == mine && its && other->count < best->count)) *best = *other;
}

/* Bytes that follow each other. Of a long run the beginning does. */
typedef struct run {
  int size;
  char bytes[longest];
} run;

static void append(run *run, char byte) {
  if (run->size < longest) run->bytes[run->size++] = byte;
}

static void end(run *run, sluice_words *best) {
  if (run->size) {
    sluice_words words = {.count = 1};
    words.all[0].size = (unsigned char)run->size;
    memcpy(words.all[0].bytes, run->bytes, (size_t)run->size);
    prefer(best, &words);
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

/* Behind its `[`. */
static void skip_set(reader *reader) {
  const char *at = reader->at;
  if (*at == '^') at++;
  if (*at == ']') at++;
  while (*at && *at != ']') {
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
}

static sluice_words alternatives(reader *reader);

static sluice_words branch(reader *reader) {
  sluice_words best = {.count = 0};
  run run = {.size = 0};
  while (!reader->odd && *reader->at && *reader->at != '|' && *reader->at != ')') {
    char byte = *reader->at++;
    bool is_byte = false, is_needed = true;
    sluice_words group = {.count = 0};
    switch (byte) {
    case '^': case '$': case '.': break;
    case '[': skip_set(reader); break;
    case '*': case '+': case '?': case '{': reader->odd = true; break;
    case '(':
      reader->odd |= ++reader->depth > deepest;
      if (reader->odd) break;
      group = alternatives(reader);
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
    if (is_byte && is_needed) append(&run, byte);
    if (!is_byte || is_repeated) end(&run, &best);
    if (is_needed) prefer(&best, &group);
  }
  end(&run, &best);
  return best;
}

static sluice_words alternatives(reader *reader) {
  sluice_words all = branch(reader);
  while (!reader->odd && *reader->at == '|') {
    reader->at++;
    const sluice_words other = branch(reader);
    if (!all.count || !other.count || all.count + other.count > most_words) {
      all.count = 0;
    } else {
      memcpy(all.all + all.count, other.all, (size_t)other.count * sizeof *other.all);
      all.count += other.count;
    }
  }
  return all;
}

sluice_words sluice_pattern_words(const char *pattern) {
  reader reader = {.at = pattern};
  sluice_words words = alternatives(&reader);
  if (reader.odd || *reader.at) words.count = 0;
  return words;
}

bool sluice_words_allow(const sluice_words *words, const void *bytes, size_t size) {
  for (int i = 0; i < words->count; i++)
    if (memmem(bytes, size, words->all[i].bytes, words->all[i].size)) return true;
  return words->count == 0;
}
