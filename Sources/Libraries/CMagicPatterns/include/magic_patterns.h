/* Spares libmagic most of its regular expressions, which take more than half of its time for a text. */
#ifndef SLUICE_MAGIC_PATTERNS_H
#define SLUICE_MAGIC_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sluice_word {
  unsigned char size;
  char bytes[31];
} sluice_word;

/* Words of which each match of a pattern has one in it, at least. */
typedef struct sluice_words {
  int count; /* 0: none are known, so that it may match anything */
  sluice_word all[8];
} sluice_words;

/* The words of an extended regular expression as regcomp(3) takes it: of `(const|let).*=.*require\(` the word `require(`. */
sluice_words sluice_pattern_words(const char *pattern);

/* Whether one of the words is there, so that a match may be: exact as to what it denies. */
bool sluice_words_allow(const sluice_words *words, const void *bytes, size_t size);

/* From now on libmagic looks for the words of a pattern before it calls regexec(3): its answers stay as they are. To be called
 * before a database is loaded; libmagic is then to be used by one thread of the process. False: libmagic does not import the
 * functions, and everything stays as it is. */
bool sluice_magic_patterns(void);

#endif
