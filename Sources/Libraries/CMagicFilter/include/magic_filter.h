/* Spares libmagic the tests that a text cannot pass, which take most of its time for one. */
#ifndef SLUICE_MAGIC_FILTER_H
#define SLUICE_MAGIC_FILTER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sluice_word {
  unsigned char size;
  char bytes[31];
} sluice_word;

/* Words of which each match of a pattern has one in it, at least. */
typedef struct sluice_words {
  int count;        /* 0: none are known, so that it may match anything */
  bool begin_lines; /* nothing but white space is before it in its line */
  sluice_word all[8];
} sluice_words;

/* The words of an extended regular expression as regcomp(3) takes it, with REG_NEWLINE: of `(const|let).*=.*require\(` the
 * word `require(`. */
sluice_words sluice_pattern_words(const char *pattern);

/* Of two sets of which a content has one of each of, the one that is rarer. */
void sluice_words_prefer(sluice_words *best, const sluice_words *other);

/* A compiled database of libmagic's, as magic_load_buffers(3) takes it, whose tests can be switched off. */
typedef struct sluice_magic_filter {
  void *database;
  size_t size; /* bytes of it */
  int test_count, needle_count;
  struct sluice_test *tests;     /* that can be switched off */
  struct sluice_needle *needles; /* by which it is decided */
  unsigned short *first;         /* the first needle of each hash, plus one; the last are of those too short for one */
  char *text;                    /* the beginning of a content */
  bool is_any_off;
} sluice_magic_filter;

/* How much is read of a content: what libmagic takes for its text (MAGIC_PARAM_ENCODING_MAX). */
enum { sluice_magic_filter_reach = 64 * 1024 };

/* Maps the database at `path`. `longest_match` is how far libmagic looks for a regular expression, in bytes
 * (MAGIC_PARAM_REGEX_MAX). False: the file is not there or of another form than the one known, and libmagic is to load it
 * itself. */
bool sluice_magic_filter_open(sluice_magic_filter *filter, const char *path, size_t longest_match);

/* Gives back what is open, if anything is: libmagic must not use it any more (magic_close(3)). */
void sluice_magic_filter_close(sluice_magic_filter *filter);

/* Gives all back. libmagic must not use the database any more (magic_close(3)). */
void sluice_magic_filter_close(sluice_magic_filter *filter);

/* Switches off the tests that the content of this file cannot pass, and all others on: libmagic answers as it would with all of
 * them. For the next content that it is asked about, by the same thread. Leaves the offset as it is. Does nothing where none is
 * open. */
void sluice_magic_filter_set(sluice_magic_filter *filter, int content);

#endif
