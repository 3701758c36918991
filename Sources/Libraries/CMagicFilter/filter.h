#ifndef SLUICE_FILTER_H
#define SLUICE_FILTER_H

#include "magic_filter.h"

#include <stdint.h>

/* A test for texts, and what a content needs to pass it: of each set of needles one. */
typedef struct sluice_test {
  uint8_t *flag;    /* of its entry in the database */
  uint8_t switches; /* the bits of it by which the test is on */
  uint8_t needed, found;
} sluice_test;

enum { set_own = 1, set_next = 2 };
enum { flag_binary = 0x20, flag_text = 0x40 };

/* A word, its letters in lower case. */
typedef struct sluice_needle {
  uint16_t test, next;
  uint8_t set;
  bool begins_line;
  uint32_t end; /* behind the last byte at which it may begin */
  sluice_word word;
} sluice_needle;

/* Words of three bytes and more are found by the hash of these, whatever the case of letters is. */
enum { hashed = 3, hashes = 4096, mark = 3 /* of UTF-8: libmagic cuts it off */ };

static inline unsigned sluice_hash(unsigned three_bytes) { return ((three_bytes | 0x202020u) * 2654435761u) >> 20; }
static inline bool sluice_is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
static inline char sluice_lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte; }

static inline unsigned sluice_three_bytes(const char *at) {
  const unsigned char *bytes = (const unsigned char *)at;
  return bytes[0] | (unsigned)bytes[1] << 8 | (unsigned)bytes[2] << 16;
}

#endif
